"""Any EncoderDecoder of mmseg learns a sequence, by inheritance alone."""
import pytest
from mmengine.runner import Runner

from mmseg_spwc.engine import step_config
from mmseg_spwc.scenario import build_scenario

SEGFORMER = 'configs/finetune/finetune_segformer-mit-b0_voc12aug-512x512.py'
DEEPLAB = 'configs/finetune/' \
    'finetune_mmseg-deeplabv3-r50-d8_voc12aug-512x512.py'


# the network of the leaf itself is built in tests/test_configs.py
R18 = {'model.backbone.depth': 18, 'model.decode_head.in_channels': 512,
       'model.auxiliary_head.in_channels': 256}


@pytest.mark.parametrize('leaf, network', [(SEGFORMER, {}), (DEEPLAB, R18)])
def test_two_steps_with_a_distilling_method(tiny_config, leaf, network):
    from mmseg_spwc.engine import ContinualRunner
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
    cfg.method.later = dict(
        model=dict(losses=dict(
            kd=dict(type='mmseg_spwc.UnbiasedDistillationLoss'))))
    record = ContinualRunner(cfg).train()
    assert [len(s['iou']) for s in record.steps] == [6, 11]


def test_whole_mmseg_config_becomes_a_step(tiny_config, tmp_path):
    """A complete mmseg leaf needs only scenario and method on top."""
    (tmp_path / 'leaf.py').write_text(
        "_base_ = 'mmseg::segformer/"
        "segformer_mit-b0_8xb2-160k_ade20k-512x512.py'\n"
        "runner_type = 'mmseg_spwc.ContinualRunner'\n"
        "scenario = dict(dataset='ade', name='100-50', label_offset=1)\n"
        "method = dict(name='Finetune', every=dict(model=dict(losses=dict("
        "pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))))\n")
    from mmengine.config import Config
    cfg = Config.fromfile(tmp_path / 'leaf.py')
    cfg.work_dir = str(tmp_path)
    cfg.model.pretrained = cfg.model.backbone.init_cfg = None
    scenario = build_scenario(cfg.scenario.to_dict())
    out = step_config(cfg, scenario, 1)
    assert out.model.decode_head.num_classes == 151
    assert out.train_cfg.max_iters == 160000
    assert Runner.build_model(None, out.model).decode_head.conv_seg.channels \
        == (101, 50)
