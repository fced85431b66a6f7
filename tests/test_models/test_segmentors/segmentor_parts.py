"""The student of a step, and a batch for it."""
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from mmseg_spwc.engine import step_config
from mmseg_spwc.registry import MODELS
from mmseg_spwc.scenario import build_scenario


def build(cfg, step, **losses):
    scenario = build_scenario(cfg.scenario.to_dict())
    config = step_config(cfg, scenario, step).model
    config.losses.update(losses)
    return MODELS.build(config)


def batch(channels=8, size=48):
    torch.manual_seed(0)
    labels = torch.randint(0, channels, (2, 1, size, size))
    labels[:, :, :4] = 255
    samples = [
        SegDataSample(
            gt_sem_seg=PixelData(data=label),
            metainfo=dict(img_shape=(size, size), ori_shape=(size, size),
                          pad_shape=(size, size)))
        for label in labels
    ]
    return torch.randn(2, 3, size, size), samples
