"""Any EncoderDecoder of mmseg learns a sequence, by inheritance alone."""
import pytest
from mmengine.config import Config
from mmengine.runner import Runner

from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import build_scenario

SEGFORMER = 'configs/finetune/finetune_segformer-mit-b0_voc12aug-512x512.py'
DEEPLAB = 'configs/finetune/' \
    'finetune_mmseg-deeplabv3-r50-d8_voc12aug-512x512.py'


# the network of the leaf itself is built in tests/test_configs.py
R18 = {'model.backbone.depth': 18, 'model.decode_head.in_channels': 512,
       'model.auxiliary_head.in_channels': 256}


@pytest.fixture
def on_shapes(tiny_config):
    """A leaf of VOC on two steps of tiny images, without weights."""

    def make(leaf, network):
        demo = tiny_config()
        cfg = tiny_config(
            leaf, **{
                'scenario.dataset': 'shapes',
                'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
                'train_cfg.max_epochs': 1,
                'schedule.later.train_cfg.max_epochs': 1,
                **network
            })
        cfg.train_dataloader.dataset = demo.train_dataloader.dataset
        cfg.test_dataloader.dataset = demo.test_dataloader.dataset
        cfg.model.pretrained = None
        cfg.model.backbone.init_cfg = None
        cfg.total_batch_size = 16
        cfg.crop_size = 32
        return cfg

    return make


@pytest.mark.parametrize('leaf, network', [(SEGFORMER, {}), (DEEPLAB, R18)])
def test_two_steps_with_a_distilling_method(on_shapes, leaf, network):
    cfg = on_shapes(leaf, network)
    cfg.method.later = dict(
        model=dict(losses=dict(
            kd=dict(type='mmseg_spwc.UnbiasedDistillationLoss'))))
    record = ContinualRunner(cfg).train()
    assert [len(s['iou']) for s in record.steps] == [6, 11]


# one block a stage, an eighth of the width
TRANSFORMERS = {
    'segformer-mit-b2': {
        'model.backbone.num_layers': [1, 1, 1, 1],
        'model.backbone.embed_dims': 8,
        'model.decode_head.in_channels': [8, 16, 40, 64],
        'model.decode_head.channels': 16},
    'upernet-swin-t': {
        'model.backbone.depths': [1, 1, 1, 1],
        'model.backbone.embed_dims': 12,
        'model.decode_head.in_channels': [12, 24, 48, 96],
        'model.decode_head.channels': 16,
        'model.auxiliary_head.in_channels': 48,
        'model.auxiliary_head.channels': 16},
}


def on_transformers() -> list:
    """All leaves; quickly, each method and each network once."""
    quick = [('mib', 'upernet-swin-t'), ('plop', 'segformer-mit-b2'),
             ('mib-ewf', 'upernet-swin-t')]
    return [
        pytest.param(
            method, network, id=f'{method}_{network}',
            marks=() if (method, network) in quick else pytest.mark.slow)
        for method in ('mib', 'plop', 'mib-ewf') for network in TRANSFORMERS]


@pytest.mark.parametrize('method, network', on_transformers())
def test_transformers_learn_two_steps(on_shapes, method, network):
    folder = method.rpartition('-')[2]
    cfg = on_shapes(f'configs/{folder}/{method}_{network}_voc12aug-512x512.py',
                    TRANSFORMERS[network])
    record = ContinualRunner(cfg).train()
    assert [len(s['iou']) for s in record.steps] == [6, 11]


@pytest.mark.parametrize('network, names', [
    ('segformer-mit-b2', r'decode_head\.convs\.0\.conv, .*fusion_conv'),
    ('upernet-swin-t', r'decode_head\.psp_modules\.0\.1\.conv, .*, \.\.\.')])
def test_rcil_says_which_layers_there_are_to_double(on_shapes, network,
                                                    names):
    cfg = on_shapes(f'configs/mib/mib_{network}_voc12aug-512x512.py',
                    TRANSFORMERS[network])
    cfg.method = Config.fromfile('configs/_base_/methods/rcil.py').method
    with pytest.raises(ConfigError, match=f'let rc.match fit .*{names}'):
        ContinualRunner(cfg).train()


def test_whole_mmseg_config_becomes_a_step(tiny_config, tmp_path):
    """A complete mmseg leaf needs only scenario and method on top."""
    (tmp_path / 'leaf.py').write_text(
        "_base_ = 'mmseg::segformer/"
        "segformer_mit-b0_8xb2-160k_ade20k-512x512.py'\n"
        "runner_type = 'mmseg_spwc.ContinualRunner'\n"
        "scenario = dict(dataset='ade', name='100-50', label_offset=1)\n"
        "method = dict(name='Finetune', every=dict(model=dict(losses=dict("
        "pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))))\n")
    cfg = Config.fromfile(tmp_path / 'leaf.py')
    cfg.work_dir = str(tmp_path)
    cfg.model.pretrained = cfg.model.backbone.init_cfg = None
    scenario = build_scenario(cfg.scenario.to_dict())
    out = step_config(cfg, scenario, 1)
    assert out.model.decode_head.num_classes == 151
    assert out.train_cfg.max_iters == 160000
    assert Runner.build_model(None, out.model).decode_head.conv_seg.channels \
        == (101, 50)
