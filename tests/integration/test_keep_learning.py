"""A model that was trained elsewhere learns on, and on again."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import mmpretrain
import pytest
import torch
from digit_runs import digits
from mmengine.config import Config
from mmengine.registry import init_default_scope
from test_load_from_run import of_mmseg
from test_own_data import own, poles, with_steps  # noqa: F401
from test_publish import CLASSIFY, SEGMENT, run_alone

from mmseg_spwc.apis.check import check_run
from mmseg_spwc.apis.publish import publish
from mmseg_spwc.apis.step_model import load_step_model
from mmseg_spwc.config.start import settle_classes
from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.start import Trained
from mmseg_spwc.errors import CheckpointError, ConfigError
from mmseg_spwc.record import Record, config_text
from mmseg_spwc.registry import DATASETS, MODELS
from mmseg_spwc.runtime.checkpoint import load_step

SHORT = {'train_cfg.max_epochs': 1, 'schedule.later.train_cfg.max_epochs': 1}
TWO = {'scenario.steps': [[1, 2, 3, 4], [5, 6, 7]], 'scenario.partial': True,
       **SHORT}
HEAD = 'decode_head.conv_seg'
SMALL = (dict(type='ResNet', depth=18, base_channels=8, stem_channels=8,
              norm_cfg=dict(type='BN')),
         dict(type='FCNHead', in_channels=64, in_index=3, channels=16,
              num_convs=1, concat_input=False, dropout_ratio=0.,
              norm_cfg=dict(type='BN')))

SMALL_CLASSIFIER = (
    dict(type='ResNet', depth=18, in_channels=1, base_channels=8,
         stem_channels=8, out_indices=(3, )),
    dict(type='GlobalAveragePooling'))


@pytest.fixture(scope='module')
def plain(config_in, tmp_path_factory):
    """A segmentor of plain mmseg that knows four classes."""
    return of_mmseg(config_in(tmp_path_factory.mktemp('mmseg'), **TWO))


@pytest.fixture
def start(tiny_config, tmp_path):
    """Make a config that starts from somewhere."""

    def make(given, name='run', **options):
        return tiny_config(**{**TWO, 'work_dir': str(tmp_path / name),
                              'start_from': given, **options})

    return make


def weights(cfg, step):
    return load_step(f'{cfg.work_dir}/step_{step:02d}/final.pth')[
        'state_dict']


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def changed(path, folder, change) -> str:
    """A copy of a plain checkpoint in which something is different."""
    content = torch.load(path, weights_only=False)
    classes = list(content['meta']['dataset_meta']['classes'])
    content['meta'] = dict(dataset_meta=dict(
        classes=change(classes, content['state_dict'])))
    target = str(folder / 'changed.pth')
    torch.save(dict(meta=content['meta'], state_dict=content['state_dict']),
               target)
    return target


def turn(classes, state):
    """The same network with its channels in the reverse order."""
    for key in state:
        if 'conv_seg' in key:
            state[key] = state[key].flip(0)
    return classes[::-1]


def test_a_plain_model_learns_a_step_and_later_another(
        start, plain, tmp_path):
    given = changed(plain, tmp_path, turn)
    cfg = start(given, self_paced=dict(rule='linear', mu=1.))
    cfg.method = Config.fromfile('configs/_base_/methods/ewc.py').method
    record = ContinualRunner(cfg).train()
    theirs = torch.load(plain, weights_only=False)['state_dict']
    ours = weights(cfg, 0)
    assert all(torch.equal(ours[key], theirs[
        key.replace('.convs.0', '')]) for key in ours)
    assert record.step(0)['start_from'] == dict(file=given, until=0)
    assert record.step(0)['kpi'] and record.step(1)['priority']
    assert [len(s['iou']) for s in record.steps] == [5, 8]

    before = json.loads(Path(cfg.work_dir, 'record.json').read_text())
    kept = [Path(cfg.work_dir, f'step_0{t}/final.pth').read_bytes()
            for t in (0, 1)]
    Path(given).unlink()  # it is not needed any more
    cfg.merge_from_dict({
        'scenario.steps': [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]],
        'resume': True})
    with pytest.raises(ConfigError, match='already holds a run'):
        ContinualRunner(Config(dict(cfg.to_dict(), resume=False))).train()
    record = ContinualRunner(cfg).train()
    assert record.content['status'] == 'finished'
    assert record.steps[:2] == before['steps']
    assert len(record.steps[2]['priority']['v']) == 2
    assert record.steps[2]['consolidation'] == dict(penalised=2, stored=2)
    for step, content in enumerate(kept):
        path = Path(cfg.work_dir, f'step_0{step}/final.pth')
        assert path.read_bytes() == content
        scores = ContinualRunner(cfg).test(path)
        assert scores['iou'] == record.step(step)['iou']
    run = record.content['run']
    assert [e['steps'] for e in run['earlier']] == [2]
    assert [8, 9, 10] in record.config['scenario']['steps']


def test_a_step_that_is_taken_is_planned_without_training(start, plain):
    _, first, second, *_ = check_run(start(plain)).splitlines()
    assert first.split()[4] == '0' and int(second.split()[4]) > 0


def test_a_background_that_a_model_lacks_never_wins(start, plain, tmp_path):

    def without(classes, state):
        for key in state:
            if 'conv_seg' in key:
                state[key] = state[key][1:]
        return classes[1:]

    cfg = start(changed(plain, tmp_path, without), **{'method.run': 'first'})
    record = ContinualRunner(cfg).train()
    state = weights(cfg, 0)
    rows = state[f'{HEAD}.convs.0.weight']
    torch.testing.assert_close(rows[0], rows[1:].mean(0))
    assert record.step(0)['iou'][0] == 0  # nothing is background


@pytest.mark.parametrize('change, words', [
    (lambda names, _: [*names[:-1], 'lorry'],
     'does not know star, which step 0 has learnt and knows lorry, which'),
    (lambda names, _: names[:-1], 'does not know star'),
    (lambda names, _: [], 'does not name the classes of its channels'),
    (lambda names, _: [names[0], *names[:-1]], 'names the class .* twice'),
])
def test_a_mismatch_names_the_classes(start, plain, tmp_path, change, words):
    cfg = start(changed(plain, tmp_path, change))
    with pytest.raises(CheckpointError, match=words):
        ContinualRunner(cfg).train()


def test_classes_may_be_named_in_the_config(start, plain, tmp_path):
    names = ['background', 'disc', 'square', 'triangle', 'star']
    nameless = changed(plain, tmp_path, lambda *_: [])
    cfg = start(dict(checkpoint=nameless, classes=names), **{
        'method.run': 'first'})
    ContinualRunner(cfg).train()
    theirs = torch.load(plain, weights_only=False)['state_dict']
    assert torch.equal(weights(cfg, 0)[f'{HEAD}.convs.0.weight'],
                       theirs[f'{HEAD}.weight'])
    cfg = start(dict(checkpoint=nameless, classes=[*names, 'ring']), 'two')
    with pytest.raises(CheckpointError, match='knows ring, which step 0'):
        ContinualRunner(cfg).train()


def test_another_network_is_named(start, plain):
    cfg = start(plain, **{'model.decode_head.channels': 24})
    with pytest.raises(CheckpointError, match='weights of another network'):
        ContinualRunner(cfg).train()


@pytest.fixture(scope='module')
def three(config_in, tmp_path_factory):
    """A finished run of three steps."""
    cfg = config_in(tmp_path_factory.mktemp('three'), **SHORT)
    ContinualRunner(cfg).train()
    return cfg


THREE = {'scenario.steps': [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]]}


def test_any_step_of_a_run_is_gone_on_from(start, three, tmp_path):
    cfg = start(f'{three.work_dir}/step_01/final.pth', **THREE)
    record = ContinualRunner(cfg).train()
    first = Record.read(three.work_dir)
    for step in range(3):
        assert same(weights(cfg, step), weights(three, step))
        assert record.step(step)['iou'] == first.step(step)['iou']
    assert record.step(1)['start_from']['until'] == 1
    assert not record.step(2)['start_from']


def test_scores_come_along_where_weights_are_gone(start, three, tmp_path):
    source = tmp_path / 'source'
    shutil.copytree(three.work_dir, source)
    (source / 'step_00/final.pth').unlink()
    cfg = start(str(source), **THREE)  # its last step
    record = ContinualRunner(cfg).train()
    assert record.finished_steps == [0, 1, 2]
    assert record.step(0)['iou'] == Record.read(source).step(0)['iou']
    assert same(weights(cfg, 2), weights(three, 2))
    (source / 'record.json').unlink()
    cfg = start(f'{source}/step_02/final.pth', 'none', **THREE)
    with pytest.raises(CheckpointError, match='nothing beside it tells'):
        ContinualRunner(cfg).train()


def test_steps_may_be_grouped_otherwise(start, three):
    """Step 1 of the one stands for step 0 of the other."""
    cfg = start(f'{three.work_dir}/step_01/final.pth', **{
        'scenario.steps': [[1, 2, 3, 4, 6, 5, 7], [8, 9, 10]]})
    ContinualRunner(cfg).train()
    rows = weights(three, 1)
    old, new = (rows[f'{HEAD}.convs.{i}.weight'] for i in (0, 1))
    assert torch.equal(weights(cfg, 0)[f'{HEAD}.convs.0.weight'],
                       torch.cat([old, new[[1, 0, 2]]]))


def test_a_published_model_is_a_start(start, three, tmp_path):
    path, _ = publish(three.work_dir, tmp_path / 'out.pth', step=0,
                      order='dataset')
    cfg = start(str(path), **{'method.run': 'first', **THREE})
    ContinualRunner(cfg).train()
    assert same(weights(cfg, 0), weights(three, 0))
    path, _ = publish(three.work_dir, tmp_path / 'later.pth', step=1)
    with pytest.raises(CheckpointError, match='let step 0 of the scenario'):
        ContinualRunner(start(str(path), 'later', **THREE)).train()


def test_a_plain_classifier_is_a_start(tmp_path):
    first = digits(tmp_path / 'first', **{'method.run': 'first'})
    ContinualRunner(first).train()
    path, _ = publish(first.work_dir, tmp_path / 'plain.pth')
    state = torch.load(path, weights_only=True)['state_dict']
    assert 'head.fc.weight' in state
    cfg = digits(tmp_path / 'second', 'ewc', start_from=str(path))
    record = ContinualRunner(cfg).train()
    assert same(weights(cfg, 0), weights(first, 0))
    assert record.step(0)['accuracy'] == Record.read(
        first.work_dir).step(0)['accuracy']
    assert record.step(2)['consolidation']['penalised'] == 2


@pytest.mark.parametrize('steps, options, words', [
    ([[1, 2, 3, 4], [5, 6], [7]], {},
     r'classes of step 1 is 5, 6, 7 there, 5, 6 here'),
    ([[1, 2, 3, 4]], {}, 'it has 2 steps, this one 1'),
    ([[1, 2, 3, 4], [5, 6, 7], [8]], {'scenario.void': 'background'},
     "void of step 0 is 'ignore' there, 'background' here"),
])
def test_finished_steps_must_stay_as_they_are(
        three, tiny_config, tmp_path, steps, options, words):
    cfg = tiny_config(**{**SHORT, **options, 'scenario.partial': True,
                         'scenario.steps': steps, 'resume': True})
    shutil.copytree(three.work_dir, cfg.work_dir)
    record = Record.read(cfg.work_dir)
    record.content['steps'].pop()  # as after two steps
    shutil.rmtree(Path(cfg.work_dir, 'step_02'))
    record.write(cfg.work_dir)
    with pytest.raises(ConfigError, match=f'another scenario.*{words}'):
        ContinualRunner(cfg).train()
    assert Record.read(cfg.work_dir).content == record.content


def extend(*arguments):
    return subprocess.run(
        [sys.executable, 'tools/extend.py', *map(str, arguments)],
        capture_output=True, text=True)


def test_the_command_adds_steps(three, tmp_path):
    run = tmp_path / 'run'
    shutil.copytree(three.work_dir, run)
    done = extend(run)
    assert done.returncode == 2
    assert 'has finished all 3 steps' in done.stderr
    assert '"[11, 12]"' in extend(run, '--step', 'pole').stderr
    record = Record.read(run)
    record.content['steps'].pop()
    record.content['scenario'].update(
        steps=three.scenario.steps[:2], partial=True, hash='before')
    shutil.rmtree(run / 'step_02')
    config = dict(three.to_dict())
    config['scenario'].update(steps=three.scenario.steps[:2], partial=True)
    record.content['run']['config'] = config_text(config)
    record.write(run)
    done = extend(run, '--trust', '--step', '[8]', '--step', '[9, 10]')
    assert done.returncode == 0, done.stderr[-2000:]
    assert 'goes on after step 1' in done.stdout
    after = Record.read(run)
    assert after.finished_steps == [0, 1, 2, 3]
    assert after.steps[:2] == record.steps


HEADS = dict(
    segformer=dict(type='SegformerHead', in_channels=[8, 16],
                   in_index=[0, 1], channels=8),
    fcn=dict(type='FCNHead', in_channels=16, in_index=1, channels=8,
             num_convs=1))


@pytest.mark.parametrize('kind', HEADS)
def test_other_networks_take_plain_weights(kind, tmp_path):
    """They compute what the plain network does, in the order of our names."""
    net = dict(
        backbone=dict(type='MixVisionTransformer', embed_dims=8, num_stages=2,
                      num_layers=[1, 1], num_heads=[1, 2],
                      patch_sizes=[7, 3], strides=[4, 2], sr_ratios=[4, 2],
                      out_indices=(0, 1)),
        decode_head=dict(HEADS[kind], num_classes=3, norm_cfg=dict(type='BN'),
                         loss_decode=dict(type='CrossEntropyLoss')),
        test_cfg=dict(mode='whole'))
    theirs = MODELS.build(dict(net, type='mmseg.EncoderDecoder'))
    path = str(tmp_path / 'plain.pth')
    torch.save(dict(state_dict=theirs.state_dict(), meta=dict(
        CLASSES=('car', 'background', 'road'))), path)
    ours = MODELS.build(dict(
        net, type='mmseg_spwc.ContinualEncoderDecoder', channels=[3],
        losses={}))
    Trained.read(path).load(ours, ['background', 'road', 'car'])
    image = torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        wanted, found = (model.eval()(image, mode='tensor')
                         for model in (theirs, ours))
    torch.testing.assert_close(found, wanted[:, [1, 2, 0]])


def test_a_scenario_takes_its_step_0_from_the_file(plain):
    cfg = Config(dict(start_from=plain, scenario=dict(
        steps=[dict(classes='start_from'), dict(classes=['ring'])])))
    settle_classes(cfg)
    assert cfg.scenario.steps[0].classes == [
        'background', 'disc', 'square', 'triangle', 'star']
    cfg = Config(dict(scenario=dict(steps=[dict(classes='start_from')])))
    with pytest.raises(ConfigError, match='has no start_from: give'):
        settle_classes(cfg)


def test_from_a_plain_model_to_a_plain_model(start, request, tmp_path):
    """In, on by two steps with a folder of other values, and out."""
    cfg = start(None, 'chain')
    cfg.model.backbone, cfg.model.decode_head = SMALL
    cfg.start_from = of_mmseg(cfg)
    pole = dict(classes=['pole'], data=own(
        request.getfixturevalue('poles'), dict(pole=7, background='others')))
    with_steps(cfg, dict(classes='start_from'), pole)
    ContinualRunner(cfg).train()
    with_steps(cfg, dict(classes='start_from'), pole, dict(classes=['ring']))
    cfg.resume = True
    record = ContinualRunner(cfg).train()
    assert record.step(2)['classes'] == [
        'background', 'disc', 'square', 'triangle', 'star', 'pole', 'ring']
    weights, _ = publish(cfg.work_dir, tmp_path / 'out.pth')
    data = DATASETS.build(step_config(
        cfg, scenario_of(cfg), 2).test_dataloader.dataset)
    given = dict(x=torch.randn(1, 3, 48, 48),
                 images=[data.get_data_info(0)['img_path']])
    found = run_alone(SEGMENT, weights, given, tmp_path)
    assert list(found['classes']) == record.step(2)['classes']
    ours = load_step_model(cfg, f'{cfg.work_dir}/step_02/final.pth').model
    with torch.no_grad():
        torch.testing.assert_close(found['logits'], ours(given['x']))


def of_mmpretrain(model, classes, path: Path) -> str:
    """A checkpoint as MMPretrain leaves it, with weights at random."""
    plain = dict(
        type='mmpretrain.ImageClassifier', backbone=model.backbone,
        neck=model.neck, head=dict(
            type='LinearClsHead', num_classes=len(classes), in_channels=64))
    torch.save(dict(
        state_dict=MODELS.build(Config(plain)).state_dict(),
        meta=dict(dataset_meta=dict(classes=classes))), path)
    return str(path)


def classified(weights_file: Path, given: dict) -> dict:
    """What a published classifier computes, in this process."""
    model = mmpretrain.get_model(str(weights_file.with_suffix('.py')),
                                 pretrained=str(weights_file), device='cpu')
    x = model.data_preprocessor(dict(inputs=given['images']))['inputs']
    with torch.no_grad():
        return dict(logits=model(x, mode='tensor'),
                    classes=model._dataset_meta['classes'])


@pytest.mark.parametrize('kind', ['class', 'task'])
def test_from_a_plain_classifier_to_plain_ones(kind, tmp_path):
    """In, on by two steps whose labels are others, and out."""
    init_default_scope('mmpretrain')
    cfg = digits(tmp_path / 'run', **{'train_cfg.max_epochs': 1})
    cfg.model.backbone, cfg.model.neck = SMALL_CLASSIFIER
    cfg.model.head.in_channels = 64
    cfg.start_from = of_mmpretrain(cfg.model, ['3', '1', '4'],
                                   tmp_path / 'plain.pth')
    source = dict(type='mmseg_spwc.DigitImages')

    def learns(**labels):
        return dict(classes=list(labels), data=dict(
            train=source, test=dict(source, split='test'), labels=labels))

    steps = [dict(classes='start_from'), learns(five=5, zero=0),
             learns(six=6, two=2)]
    for known in (2, 3):
        cfg.scenario = dict(problem='classification', dataset='mine',
                            kind=kind, steps=steps[:known])
        record = ContinualRunner(cfg).train()
        cfg.resume = True
    step = load_step_model(cfg, f'{cfg.work_dir}/step_02/final.pth')
    test = DATASETS.build(step.cfg.test_dataloader.dataset)
    batch = test.__getitems__(range(len(test)))
    labels, tasks = (getattr(batch['data_samples'], name)
                     for name in ('gt_label', 'task'))
    models = [file for file in publish(cfg.work_dir, tmp_path / 'out.pth')
              if file.suffix == '.pth']
    assert len(models) == (3 if kind == 'task' else 1)
    names, scores = [], []
    for task, weights_file in enumerate(models):
        shown = tasks == task if kind == 'task' else tasks >= 0
        given = dict(images=batch['inputs'][shown])
        # another process takes seconds to start: once is enough
        found = run_alone(CLASSIFY, weights_file, given, tmp_path) \
            if kind == 'class' else classified(weights_file, given)
        hits = found['logits'].argmax(1) + len(names) == labels[shown]
        names += found['classes']
        scores.append(hits.float().mean().item())
    assert names == record.step(2)['classes'] == [
        '3', '1', '4', 'five', 'zero', 'six', 'two']
    assert scores == pytest.approx(
        record.step(2)['accuracy_by_step'] if kind == 'task' else
        [record.step(2)['accuracy']['all']])
