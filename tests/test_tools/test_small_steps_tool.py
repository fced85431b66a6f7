"""Sequences on cached features: the classifiers of a segmentor alone."""
import json
import subprocess
import sys

import pytest
import torch
from scripts import load

SCRIPT = 'tools/analysis_tools/small_steps.py'


@pytest.fixture(scope='module')
def tool():
    return load(SCRIPT)


@pytest.fixture
def data():
    """Three old classes, then two; features that tell them apart."""
    random = torch.Generator().manual_seed(0)
    centres = 3 * torch.randn(6, 12, generator=random)

    def images(number):
        labels = torch.zeros(number, 4, 4, dtype=torch.uint8)
        labels[:, 1:, 2:] = (torch.arange(number) % 6)[:, None, None]
        labels[0, 0, 0] = 255
        small = labels[:, 1::2, 1::2].long()
        features = centres[small] + 0.3 * torch.randn(
            number, 2, 2, 12, generator=random)
        return dict(features=features.permute(0, 3, 1, 2).half(),
                    labels=labels)

    weight = 2 * centres[:4, :, None, None] / 9
    bias = -(centres[:4]**2).sum(1) / 9
    return dict(
        train=images(240), test=images(60), classes=[[1, 2, 3], [4], [5]],
        classifier={'convs.0.weight': weight, 'convs.0.bias': bias})


def test_scores_by_hand(tool, data):
    sequence = tool.Sequence(data, 0)
    scores = sequence.score(sequence.test)
    shown = sequence.test.showing([1, 2, 3])
    logits = tool.enlarged(sequence.net(shown.features), shown.labels)
    seen = logits.argmax(1)
    known = shown.labels != 255
    for channel in range(4):
        true = (shown.labels == channel) | (
            (shown.labels > 3) & known if channel == 0 else False)
        hits = (seen == channel) & true & known
        union = ((seen == channel) | true) & known
        assert scores[channel] == pytest.approx(
            (hits.sum() / union.sum()).item(), abs=1e-5)


def test_a_sequence_learns_and_is_repeatable(tool, data):
    options = dict(init='zero', lr=0.05, kd=1., batch=8, epochs=20)
    first = tool.Sequence(data, 3, **options).run()
    assert tool.Sequence(data, 3, **options).run() == first
    assert sorted(first['order']) == [4, 5]
    assert [len(s) for s in first['heldout']] == [4, 5, 6]
    assert first['test'][-1] > 0.2  # the newest class
    assert first['v'] == []


def test_priorities_change_what_is_kept(tool, data):
    options = dict(init='zero', lr=0.05)
    plain = tool.Sequence(data, 1, **options).run()
    ones = tool.Sequence(
        data, 1, dict(mu=1., control=1., on='both'), **options).run()
    assert ones['test'] == plain['test']
    assert ones['v'] == [[1.] * 4, [1.] * 5]
    for on in ('pixel', 'distillation'):
        half = tool.Sequence(
            data, 1, dict(mu=1., control=0.2, on=on), **options).run()
        assert half['heldout'] != plain['heldout']


def test_priorities_follow_what_is_lost_in_a_step(tool, data):
    """Looked at while a class is learnt, they end as its loss has them."""
    chosen = dict(mu=2., relative=True, **{'update.iters': 1})
    found = tool.Sequence(data, 1, chosen, init='balanced', lr=0.5, kd=0.,
                          epochs=2).run()
    fallen = [now < before - 0.1 for before, now in zip(
        found['heldout'][0], found['heldout'][1], strict=False)]
    assert any(fallen) and not all(fallen)
    for lost, v in zip(fallen, found['v'][0], strict=True):
        assert (v > 0) == lost


def test_the_base_classes_have_a_rate_of_their_own(tool, data):
    sequence = tool.Sequence(data, 1, lr=0.1, lr_mult=5., base_lr_mult=0.)
    before = sequence.net.convs[0].weight.clone()
    sequence.run()
    first, *later = sequence.net.convs
    assert torch.equal(first.weight, before)
    assert all(conv.weight.abs().sum() > 0 for conv in later)


def test_unknown_options_are_refused(tool, data):
    with pytest.raises(ValueError, match="'initial'.*init"):
        tool.Sequence(data, 0, initial='zero')


def test_command_adds_runs_to_a_file(data, tmp_path):
    torch.save(data, tmp_path / 'features.pt')
    for seeds in (['0'], ['1', '2']):
        done = subprocess.run(
            [sys.executable, str(SCRIPT), 'run',
             str(tmp_path / 'features.pt'), '--seeds', *seeds, '--options',
             'init=share', 'share=0.05', 'epochs=1', '--self-paced', 'k=15',
             'background=keep', 'on=distillation', '--out',
             str(tmp_path / 'runs.json')], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    runs = json.loads((tmp_path / 'runs.json').read_text())
    assert [r['seed'] for r in runs] == [0, 1, 2]
    assert runs[0]['self_paced']['on'] == 'distillation'
    assert runs[0]['v'][0][0] == 1


def test_an_empty_file_gets_a_sentence(tool, tmp_path, monkeypatch, capsys):
    path = tmp_path / 'features.pt'
    path.touch()
    monkeypatch.setattr(sys, 'argv', ['small_steps.py', 'run', str(path)])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    assert ended.value.code == 2
    assert 'features.pt is empty or cut off' in capsys.readouterr().err
