"""Noise and turns that rise from task to task."""
import numpy as np
import pytest
import torch

from mmseg_spwc.datasets.batches import RisingLevels
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import build_scenario

DIGITS = dict(
    problem='classification', dataset='permuted_digits', name='5', seed=3)
BARS = torch.zeros(400, 1, 21, 21, dtype=torch.uint8)
BARS[:, :, 9:12] = 120  # a horizontal bar through the middle


def change(task, testing=False, images=BARS, **fields):
    scenario = build_scenario(dict(DIGITS, **fields))
    tasks = torch.full((len(images), ), task)
    return RisingLevels(scenario, testing)(images, tasks,
                                           torch.arange(len(images)))


def test_names_tell_the_levels_and_step_0_is_shared():
    plain = build_scenario(DIGITS)
    noisy = build_scenario(dict(DIGITS, noise=.9))
    assert noisy.name == '5-noise0.9'
    assert build_scenario(dict(DIGITS, noise=.9, rotation=45)).name == (
        '5-noise0.9-rotation45')
    assert build_scenario(noisy.to_dict()) == noisy
    assert noisy.hash != plain.hash and noisy.base_hash == plain.base_hash
    assert [noisy.level(t) for t in range(5)] == [0, .25, .5, .75, 1]
    assert build_scenario(dict(DIGITS, name='1', noise=1)).level(0) == 0


def test_noise_rises_evenly():
    assert torch.equal(change(0, noise=.2), BARS)
    for task, level in ((1, .05), (2, .1), (4, .2)):
        noisy = change(task, noise=.2)
        assert noisy.dtype == torch.uint8 and noisy.shape == BARS.shape
        inside = (noisy.float() - BARS)[:, :, 9:12] / 255  # hardly clipped
        assert inside.mean().abs() < 4e-3
        assert inside.std() == pytest.approx(level, rel=.03)


@pytest.mark.parametrize(('task', 'largest'), [(2, 15), (4, 30)])
def test_angles_are_uniform(task, largest):
    images = change(task, rotation=30)[:, 0].double()
    ys, xs = torch.meshgrid(*[torch.arange(21.) - 10] * 2, indexing='ij')
    xx, yy, xy = ((images * m).sum((1, 2))
                  for m in (xs * xs, ys * ys, xs * ys))
    angles = torch.rad2deg(.5 * torch.atan2(2 * xy, xx - yy))  # of the bar
    assert angles.abs().max() < largest + 1
    counts = np.histogram(angles, bins=4, range=(-largest, largest))[0]
    assert counts.sum() > 380 and counts.min() > 70


def test_draws_depend_on_seed_task_image_and_role():
    one = change(2, noise=.3)
    assert torch.equal(one, change(2, noise=.3))
    assert torch.equal(one[:7], change(2, noise=.3, images=BARS[:7]))
    assert not torch.equal(one[0], one[1])
    for other in (change(2, noise=.3, seed=4), change(3, noise=.2),
                  change(2, True, noise=.3)):
        assert not torch.equal(one, other)


def make(scenario, step, role='train'):
    return DATASETS.build(dict(
        type='mmseg_spwc.ContinualClsDataset', scenario=scenario, step=step,
        role=role, dataset=dict(type='mmseg_spwc.DigitImages', split=(
            'test' if role == 'test' else 'train'))))


def test_a_step_sees_its_level_before_its_permutation():
    scenario = build_scenario(dict(DIGITS, noise=.4))
    dataset = make(scenario.to_dict(), 2, 'test')
    assert len(dataset) == 3 * 359
    for index in (5, 359 + 5, 2 * 359 + 5):
        task = index // 359
        image = dataset.source.images[[5]]
        level = RisingLevels(scenario, True)(
            image, torch.tensor([task]), torch.tensor([5]))
        order = scenario.permutation(task, 1024)
        moved = level.flatten()[torch.from_numpy(order)].view(1, 32, 32)
        assert torch.equal(dataset[index]['inputs'], moved)
    assert torch.equal(make(DIGITS, 2)[3]['inputs'], make(
        dict(DIGITS, noise=0., rotation=0), 2)[3]['inputs'])


@pytest.mark.parametrize('field', ['noise', 'rotation'])
@pytest.mark.parametrize('value', [-.1, float('nan'), float('inf')])
def test_wrong_levels(field, value):
    with pytest.raises(ValueError, match=f'{field} is .*give 0 or more'):
        build_scenario({**DIGITS, field: value})
