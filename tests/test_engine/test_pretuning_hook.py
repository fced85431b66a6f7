"""NeST's rows, against numbers worked out by hand and by definition."""
import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.hooks import PretuningHook
from mmseg_spwc.engine.hooks.pretuning_hook import (
    RowTransforms,
    class_matches,
)
from mmseg_spwc.runtime.checkpoint import load_step

OLD = torch.tensor([[1., 0.], [0., 2.]])
BIAS = torch.tensor([3., 4.])


def test_published_form():
    rows = RowTransforms(OLD, BIAS, torch.zeros(1),
                         torch.tensor([[[.5, .5], [.25, 0.]]]))
    assert rows.mix[0].tolist() == pytest.approx([.679179, .320821], abs=1e-6)
    assert rows.new_rows()[0].tolist() == pytest.approx(
        [.339589, 0], abs=1e-6)
    weight, bias = rows()
    assert torch.equal(weight[:2, :, 0, 0], OLD) and weight.shape[0] == 3
    assert bias.tolist() == [3., 4., 0.]


def test_old_rows_start_as_good_as_one_hot():
    """Matches are added up over 256 channels without a temperature."""
    matches = torch.zeros(1, 3, 256)
    matches[..., ::2] = torch.tensor([.4, .35, .25])[:, None]
    rows = RowTransforms(torch.ones(3, 256), torch.zeros(3), torch.zeros(1),
                         matches)
    assert rows.mix[0, 0].item() == pytest.approx(.998, abs=5e-4)


def test_rows_end_with_the_norms_of_the_old_ones():
    torch.manual_seed(0)
    rows = RowTransforms(OLD, BIAS, torch.tensor([.3, -.4]),
                         torch.rand(2, 2, 2))
    rows.scale.data.fill_(.1)
    background, new, bias = rows.rescaled()
    torch.testing.assert_close(background, OLD[0])
    assert new.norm(dim=1).mean().item() == pytest.approx(1.5)
    torch.testing.assert_close(bias, torch.tensor([3., -4.]))
    # a bias of 0 stays
    still = RowTransforms(OLD, BIAS, torch.zeros(1), torch.ones(1, 2, 2))
    assert still.rescaled()[2].tolist() == [0.]


def test_a_copy_of_the_background():
    matches = torch.zeros(1, 2, 2)
    matches[0, 0] = 1.
    rows = RowTransforms(OLD, BIAS, BIAS[:1], matches)
    rows.mix.data = torch.tensor([[1., 0.]])
    torch.testing.assert_close(rows.new_rows()[0], OLD[0])


def test_matches_by_definition():
    torch.manual_seed(0)
    maps, q = torch.randn(2, 3, 4, 4), torch.rand(2, 2, 4, 4)
    labels, old = torch.randint(0, 4, (2, 4, 4)), torch.randn(2, 3)
    sums, counts = class_matches(maps, q, labels, old, range(2, 4))
    for n, label in enumerate((2, 3)):
        pixels = (labels == label).nonzero().tolist()
        assert counts[n] == len(pixels)
        for c in range(2):
            for k in range(3):
                expected = sum(q[b, c, y, x] for b, y, x in pixels
                               if maps[b, k, y, x] * old[c, k] > 0)
                torch.testing.assert_close(
                    sums[n, c, k], torch.as_tensor(expected))


def test_only_rows_are_tuned_and_a_sequence_runs(tiny_config, tmp_path,
                                                 monkeypatch):
    cfg = tiny_config(**{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1, 'schedule.later.train_cfg.max_epochs': 1})
    cfg.method = Config.fromfile('configs/_base_/methods/mib_nest.py').method
    cfg.work_dir = str(tmp_path / 'run')
    tuned = []
    before_train = PretuningHook.before_train

    def watched(self, runner):
        before = {k: v.clone() for k, v in runner.model.state_dict().items()}
        before_train(self, runner)
        after = runner.model.state_dict()
        tuned.append({k for k in after if not torch.equal(after[k],
                                                          before[k])})

    monkeypatch.setattr(PretuningHook, 'before_train', watched)
    record = ContinualRunner(cfg).train()
    assert record.finished_steps == [0, 1]
    rows = 'decode_head.conv_seg.convs'
    assert tuned == [{f'{rows}.0.weight', f'{rows}.1.weight',
                      f'{rows}.1.bias'}]
    state = load_step(f'{cfg.work_dir}/step_01/final.pth')['state_dict']
    assert all(v.isfinite().all() for v in state.values())


@pytest.mark.parametrize('options', [dict(epochs=0), dict(lr_scale=0.)])
def test_bad_settings_are_refused(options):
    with pytest.raises(ValueError, match=f'pretuning.{[*options][0]}'):
        PretuningHook(**options)
