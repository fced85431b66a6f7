"""A published step is an ordinary model of mmseg or MMPretrain."""
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from digit_runs import digits
from mmengine.config import Config

from mmseg_spwc.apis.publish import Deployed, publish
from mmseg_spwc.apis.step_model import load_step_model
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import CheckpointError, ConfigError

ROOT = Path(__file__).resolve().parents[2]
# a process that cannot import this project; mmcv-lite lacks its operators,
# and a torchvision for GPUs cannot load its own beside a torch for CPUs
ALONE = r'''
import importlib.util, sys, types
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
    sys.modules['mmcv._ext'] = Operators('mmcv._ext')
'''
SEGMENT = ALONE + r'''
from mmseg.apis import inference_model, init_model
config, weights, inputs, out = sys.argv[1:]
model = init_model(config, weights, device='cpu')
given = torch.load(inputs)
seen = inference_model(model, given['image'].numpy()).pred_sem_seg.data
torch.save(dict(logits=model(given['x'], mode='tensor').detach(), seen=seen,
                classes=model.dataset_meta['classes'],
                palette=model.dataset_meta['palette']), out)
'''
CLASSIFY = ALONE + r'''
import mmpretrain
config, weights, inputs, out = sys.argv[1:]
model = mmpretrain.get_model(config, pretrained=weights, device='cpu')
given = torch.load(inputs)
torch.save(dict(logits=model(given['x'], mode='tensor').detach(),
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
    given = dict(x=torch.randn(1, 3, 48, 48),
                 image=torch.randint(0, 255, (48, 48, 3), dtype=torch.uint8))
    found = run_alone(SEGMENT, out, given, tmp_path)
    step = original(rcil_run, 1)
    assert torch.allclose(found['logits'], step.model(given['x']), atol=1e-4)
    assert found['seen'].shape == (1, 48, 48)
    assert list(found['classes']) == step.classes
    assert found['palette'] == step.palette


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


def test_parameters_are_those_of_the_plain_network(rcil_run, tmp_path):
    from mmseg.apis import init_model
    weights, config = publish(rcil_run.work_dir, tmp_path / 'm.pth')
    model = init_model(str(config), str(weights), device='cpu')
    assert sum(p.numel() for p in model.parameters()) == sum(
        p.numel() for p in original(rcil_run, 2).model.parameters())
    assert 'mmseg_spwc' not in config.read_text()


@torch.no_grad()
def test_torchscript_takes_an_image_as_it_is(rcil_run, tmp_path):
    files = publish(rcil_run.work_dir, tmp_path / 'm.pth',
                    exports=['torchscript'], size=(40, 56))
    network = torch.jit.load(str(files[-1]))
    image = torch.randint(0, 255, (2, 3, 40, 56)).float()
    model = original(rcil_run, 2).model
    assert torch.allclose(network(image), Deployed(model)(image), atol=1e-4)
    assert network(image).shape == (2, 11, 40, 56)


@pytest.mark.slow
@torch.no_grad()
def test_onnx_computes_the_same(rcil_run, tmp_path):
    pytest.importorskip('onnx')
    onnxruntime = pytest.importorskip('onnxruntime')
    files = publish(rcil_run.work_dir, tmp_path / 'm.pth', exports=['onnx'],
                    size=(40, 56))
    session = onnxruntime.InferenceSession(str(files[-1]))
    image = torch.randint(0, 255, (2, 3, 40, 56)).float()
    found, = session.run(None, dict(image=image.numpy()))
    expected = Deployed(original(rcil_run, 2).model)(image)
    assert torch.allclose(torch.from_numpy(found), expected, atol=1e-4)


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
    x = torch.randn(2, 1, 32, 32)
    found = run_alone(CLASSIFY, out, dict(x=x), tmp_path)
    step = original(cfg, 1)
    assert torch.allclose(found['logits'], step.model(x), atol=1e-4)
    assert list(found['classes']) == step.classes == list('31405')


def test_every_task_with_a_head_of_its_own_becomes_a_model(tmp_path):
    cfg = classifier(tmp_path / 'run', 'task')
    files = publish(cfg.work_dir, tmp_path / 'm.pth', order='dataset')
    assert [f.name for f in files if f.suffix == '.pth'] == [
        'm_task_0.pth', 'm_task_1.pth', 'm_task_2.pth']
    x = torch.randn(2, 1, 32, 32)
    found = run_alone(CLASSIFY, files[0], dict(x=x), tmp_path)
    model = original(cfg, 2).model
    logits = model.all_logits(x)
    assert list(found['classes']) == list('134')
    assert torch.allclose(found['logits'], logits[:, [1, 0, 2]], atol=1e-4)
