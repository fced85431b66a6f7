"""A published step is an ordinary model of mmseg or MMPretrain."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from digit_runs import digits
from mmengine.config import Config
from PIL import Image

from mmseg_spwc.apis.publish import Deployed, publish
from mmseg_spwc.apis.step_model import load_step_model
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import CheckpointError, ConfigError
from mmseg_spwc.evaluation import judge
from mmseg_spwc.labels import VOID
from mmseg_spwc.record import Record
from mmseg_spwc.registry import DATASETS, MODELS

ROOT = Path(__file__).resolve().parents[2]
# a process that cannot import this project; mmcv-lite lacks its operators,
# and a torchvision for GPUs cannot load its own beside a torch for CPUs
ALONE = r'''
import importlib.machinery, importlib.util, sys, types
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] == 'mmseg_spwc':
            raise ImportError('mmseg_spwc is not to be imported')
sys.meta_path.insert(0, Refuse())
import torch
library = torch.library.Library('torchvision', 'FRAGMENT')
for name in ('nms', 'qnms'):
    if not hasattr(torch.ops.torchvision, name):
        library.define(name + '(Tensor a, Tensor b, float c) -> Tensor')
if importlib.util.find_spec('mmcv._ext') is None:
    class Operators(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith('__'):
                raise AttributeError(name)
            return None
    found = sys.modules['mmcv._ext'] = Operators('mmcv._ext')
    found.__spec__ = importlib.machinery.ModuleSpec('mmcv._ext', None)
'''
SEGMENT = ALONE + r'''
from mmseg.apis import inference_model, init_model
config, weights, inputs, out = sys.argv[1:]
model = init_model(config, weights, device='cpu')
given = torch.load(inputs)
seen = [inference_model(model, image).pred_sem_seg.data[0]
        for image in given['images']]
torch.save(dict(logits=model(given['x'], mode='tensor').detach(), seen=seen,
                classes=model.dataset_meta['classes'],
                palette=model.dataset_meta['palette']), out)
'''
CLASSIFY = ALONE + r'''
import mmpretrain
config, weights, inputs, out = sys.argv[1:]
model = mmpretrain.get_model(config, pretrained=weights, device='cpu')
given = torch.load(inputs)
x = model.data_preprocessor(dict(inputs=given['images']))['inputs']
torch.save(dict(logits=model(x, mode='tensor').detach(),
                classes=model._dataset_meta['classes']), out)
'''


def run_alone(program: str, weights: Path, given: dict, folder: Path) -> dict:
    """Load a published model elsewhere, and return what it computes."""
    torch.save(given, folder / 'inputs.pt')
    done = subprocess.run(
        [sys.executable, '-c', program, weights.with_suffix('.py'), weights,
         folder / 'inputs.pt', folder / 'outputs.pt'],
        cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return torch.load(folder / 'outputs.pt')


@pytest.fixture(scope='module')
def rcil_run(config_in, tmp_path_factory) -> Config:
    """Three steps of a network of mmseg's own parts, doubled to train it."""
    cfg = config_in(tmp_path_factory.mktemp('rcil'), **{
        'scenario.steps': [[1, 7, 3], [6, 2], [4, 5, 8, 9, 10]],
        'train_cfg.max_epochs': 1,
        'schedule.later.train_cfg.max_epochs': 1,
    })
    cfg.model.backbone = dict(
        type='ResNet', depth=18, base_channels=8, stem_channels=8,
        norm_cfg=dict(type='SyncBN'))
    cfg.model.decode_head = dict(
        type='FCNHead', in_channels=64, in_index=3, channels=16, num_convs=1,
        concat_input=False, dropout_ratio=0., norm_cfg=dict(type='BN'))
    cfg.method = Config.fromfile(
        ROOT / 'configs/_base_/methods/rcil.py').method
    cfg.method.every.model.rc.match = r'\.conv2$'
    ContinualRunner(cfg).train()
    return cfg


def original(cfg: Config, step: int):
    return load_step_model(cfg, f'{cfg.work_dir}/step_{step:02d}/final.pth')


@torch.no_grad()
def test_mmseg_alone_loads_what_rcil_left(rcil_run, tmp_path):
    out = tmp_path / 'published.pth'
    subprocess.run([
        sys.executable, ROOT / 'tools/misc/publish_model.py',
        f'{rcil_run.work_dir}/step_01/final.pth', out
    ], check=True)
    step = original(rcil_run, 1)
    test = DATASETS.build(step.cfg.test_dataloader.dataset)
    files = [test.get_data_info(i) for i in range(len(test))]
    given = dict(x=torch.randn(1, 3, 48, 48),
                 images=[info['img_path'] for info in files])
    found = run_alone(SEGMENT, out, given, tmp_path)
    assert torch.allclose(found['logits'], step.model(given['x']), atol=1e-4)
    assert list(found['classes']) == step.classes
    assert found['palette'] == step.palette
    # what it sees scores what the record says
    channels = test.scenario.test_table(1)
    true = np.stack([channels[np.array(Image.open(info['seg_map_path']))]
                     for info in files])
    seen = torch.stack(found['seen']).numpy()[true != VOID]
    true = true[true != VOID]
    iou = [((true == c) & (seen == c)).sum()
           / max(((true == c) | (seen == c)).sum(), 1)
           for c in range(len(step.classes))]
    assert iou == pytest.approx(Record.read(rcil_run.work_dir).step(1)['iou'])


@torch.no_grad()
def test_the_channels_can_be_in_the_order_of_the_dataset(rcil_run, tmp_path):
    weights, config = publish(rcil_run.work_dir, tmp_path / 'm.pth', 2,
                              'dataset')
    written = torch.load(weights, weights_only=True)
    info = ContinualRunner(rcil_run).scenario
    ids = [0, 1, 7, 3, 6, 2, 4, 5, 8, 9, 10]  # as they were learnt
    assert list(info.seen_classes(2)) == ids
    step = original(rcil_run, 2)
    x = torch.randn(1, 3, 48, 48)
    from mmseg.apis import init_model
    model = init_model(str(config), str(weights), device='cpu')
    expected = step.model(x)
    for channel, class_id in enumerate(ids):
        assert torch.allclose(model(x, mode='tensor')[:, class_id],
                              expected[:, channel], atol=1e-4)
        assert written['meta']['dataset_meta']['classes'][class_id] == \
            step.classes[channel]


def parts(model) -> list:
    """What a network is made of, and so what it costs."""
    return [(name, type(part), [tuple(p.shape) for p in part.parameters()])
            for name, part in model.named_modules()]


def test_the_network_is_the_plain_one(rcil_run, tmp_path):
    from mmseg.apis import init_model
    weights, config = publish(rcil_run.work_dir, tmp_path / 'm.pth')
    plain = dict(
        type='EncoderDecoder',
        data_preprocessor=dict(type='SegDataPreProcessor'),
        backbone=dict(rcil_run.model.backbone, norm_cfg=dict(type='BN')),
        decode_head=dict(rcil_run.model.decode_head, num_classes=11),
        test_cfg=dict(mode='whole'))
    model = init_model(str(config), str(weights), device='cpu')
    assert parts(model) == parts(MODELS.build(plain))
    assert 'mmseg_spwc' not in config.read_text()


def test_the_files_say_in_which_order_the_channels_are(rcil_run, tmp_path):
    weights, config = publish(rcil_run.work_dir, tmp_path / 'm.pth', 1)
    names = torch.load(weights)['meta']['dataset_meta']['classes']
    first, second = config.read_text().splitlines()[:2]
    assert first == '# step 1 of RCIL, learnt in tiny'
    assert second == f'# channels, in learning order: {json.dumps(names)}'


@torch.no_grad()
def test_torchscript_takes_an_image_as_it_is(rcil_run, tmp_path):
    files = publish(rcil_run.work_dir, tmp_path / 'm.pth',
                    exports=['torchscript'], size=(40, 56))
    network = torch.jit.load(str(files[-1]))
    image = torch.randint(0, 255, (2, 3, 40, 56)).float()
    model = original(rcil_run, 2).model
    assert torch.allclose(network(image), Deployed(model)(image), atol=1e-4)
    assert network(image).shape == (2, 11, 40, 56)


@torch.no_grad()
def check_onnx(cfg: Config, shape: tuple, out: Path) -> None:
    pytest.importorskip('onnx')
    onnxruntime = pytest.importorskip('onnxruntime')
    files = publish(cfg.work_dir, out, exports=['onnx'], size=shape[2:])
    session = onnxruntime.InferenceSession(str(files[-1]))
    image = torch.randint(0, 255, shape).float()
    found, = session.run(None, dict(image=image.numpy()))
    expected = Deployed(original(cfg, 2).model)(image)
    assert torch.allclose(torch.from_numpy(found), expected, atol=1e-4)


@pytest.mark.slow
def test_onnx_computes_the_same(rcil_run, tmp_path):
    check_onnx(rcil_run, (2, 3, 40, 56), tmp_path / 'm.pth')


@pytest.mark.slow
def test_onnx_of_a_classifier_computes_the_same(tmp_path):
    cfg = classifier(tmp_path / 'run', 'class')
    check_onnx(cfg, (2, 1, 32, 32), tmp_path / 'm.pth')


def test_a_step_that_was_not_accepted_needs_force(rcil_run, tmp_path):
    folder = tmp_path / 'run'
    shutil.copytree(rcil_run.work_dir, folder)
    record = Record.read(folder)
    record.steps[1]['accepted'] = judge(record.steps[:2], old_drop=2.)
    record.write(folder)
    with pytest.raises(ConfigError, match='was not accepted .*background fell '
                       '.*--force'):
        publish(folder, tmp_path / 'm.pth', 1)
    assert not (tmp_path / 'm.pth').exists()
    assert publish(folder, tmp_path / 'm.pth', 1, force=True)
    assert publish(folder, tmp_path / 'n.pth', 2)


def test_a_run_says_after_every_step_whether_it_may_be_shipped(
        tmp_path, capsys):
    cfg = digits(tmp_path, **{'scenario.name': '2', 'train_cfg.max_epochs': 1})
    cfg.accept = dict(old_drop=100., new_min=100.)
    record = ContinualRunner(cfg).train()
    for entry, line in zip(record.steps, [
            line for line in capsys.readouterr().out.splitlines()
            if 'accepted: ' in line], strict=True):
        assert not entry['accepted']['passed']
        assert line == f'  not accepted: {entry["accepted"]["reason"]}'


def test_a_step_that_is_not_there_is_named(rcil_run, tmp_path):
    with pytest.raises(CheckpointError, match='no finished step 7'):
        publish(rcil_run.work_dir, tmp_path / 'm.pth', 7)


def test_a_step_is_not_overwritten_by_its_published_form(rcil_run):
    path = Path(rcil_run.work_dir, 'step_02/final.pth')
    before = path.read_bytes()
    with pytest.raises(ConfigError, match='is the step itself'):
        publish(path, path)
    assert path.read_bytes() == before


def test_a_file_outside_of_a_run_is_refused(rcil_run, tmp_path):
    moved = tmp_path / 'elsewhere' / 'final.pth'
    moved.parent.mkdir()
    moved.write_bytes(
        Path(rcil_run.work_dir, 'step_02/final.pth').read_bytes())
    with pytest.raises(CheckpointError, match='lies in no run'):
        publish(moved, tmp_path / 'm.pth')


def classifier(folder: Path, kind: str) -> Config:
    """Three steps of a classifier of MMPretrain's own parts."""
    cfg = digits(folder, **{'train_cfg.max_epochs': 1})
    cfg.scenario = dict(
        problem='classification', dataset='digits', kind=kind,
        steps=[[3, 1, 4], [0, 5], [2, 6]], num_classes=10, partial=True)
    cfg.model.backbone = dict(
        type='ResNet', depth=18, in_channels=1,
        base_channels=8, stem_channels=8, out_indices=(3, ))
    cfg.model.neck = dict(type='GlobalAveragePooling')
    cfg.model.head.in_channels = 64
    ContinualRunner(cfg).train()
    return cfg


def test_mmpretrain_alone_loads_one_linear_head(tmp_path):
    cfg = classifier(tmp_path / 'run', 'class')
    out = tmp_path / 'published.pth'
    publish(f'{cfg.work_dir}/step_01/final.pth', out)
    state = torch.load(out, weights_only=True)['state_dict']
    assert state['head.fc.weight'].shape == (5, 64)
    step = original(cfg, 1)
    test = DATASETS.build(step.cfg.test_dataloader.dataset)
    batch = test.__getitems__(range(len(test)))
    found = run_alone(CLASSIFY, out, dict(images=batch['inputs']), tmp_path)
    assert list(found['classes']) == step.classes == list('31405')
    hits = found['logits'].argmax(1) == batch['data_samples'].gt_label
    assert hits.float().mean().item() == pytest.approx(
        Record.read(cfg.work_dir).step(1)['accuracy']['all'])


def test_every_task_with_a_head_of_its_own_becomes_a_model(tmp_path):
    cfg = classifier(tmp_path / 'run', 'task')
    files = publish(cfg.work_dir, tmp_path / 'm.pth', order='dataset')
    assert [f.name for f in files if f.suffix == '.pth'] == [
        'm_task_0.pth', 'm_task_1.pth', 'm_task_2.pth']
    images = torch.randint(0, 255, (2, 1, 32, 32), dtype=torch.uint8)
    found = run_alone(CLASSIFY, files[0], dict(images=images), tmp_path)
    model = original(cfg, 2).model
    logits = model.all_logits(
        model.data_preprocessor(dict(inputs=images))['inputs'])
    assert list(found['classes']) == list('134')
    assert torch.allclose(found['logits'], logits[:, [1, 0, 2]], atol=1e-4)
