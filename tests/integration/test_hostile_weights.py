"""Weights from elsewhere, on every way by which a config names them."""
import functools
import http.server
import threading
from pathlib import Path

import pytest
import torch
from mmengine.model import BaseModule
from mmengine.runner import load_checkpoint
from mmengine.runner.checkpoint import get_external_models
from torch import nn

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import CheckpointError
from mmseg_spwc.runtime.checkpoint import load_plain

RESNET = 'open-mmlab://resnet50_v1c'


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path, )


@pytest.fixture(params=['file', 'http', RESNET, 'torchvision://resnet18'])
def source(request, tmp_path, monkeypatch):
    """A way to weights, and where what lies there is written."""
    hub = tmp_path / 'hub' / 'checkpoints'
    hub.mkdir(parents=True)
    monkeypatch.setenv('TORCH_HOME', str(tmp_path))
    if request.param == 'file':
        yield str(tmp_path / 'w.pth'), tmp_path / 'w.pth'
    elif request.param == 'http':
        served = tmp_path / 'served'
        served.mkdir()
        handler = functools.partial(
            http.server.SimpleHTTPRequestHandler, directory=str(served))
        with http.server.ThreadingHTTPServer(('127.0.0.1', 0),
                                             handler) as server:
            threading.Thread(target=server.serve_forever).start()
            yield (f'http://127.0.0.1:{server.server_port}/w.pth',
                   served / 'w.pth')
            server.shutdown()
    elif request.param == RESNET:  # in the cache, from whomever
        name = get_external_models()['resnet50_v1c']
        yield request.param, hub / name.rpartition('/')[2]
    else:
        from torchvision.models import ResNet18_Weights
        name = ResNet18_Weights.IMAGENET1K_V1.url
        yield request.param, hub / name.rpartition('/')[2]


def of_init_cfg(name):
    class Layer(BaseModule):

        def __init__(self):
            super().__init__(dict(type='Pretrained', checkpoint=name))
            self.w = nn.Parameter(torch.zeros(2))

    layer = Layer()
    layer.init_weights()
    return layer.w


WAYS = dict(
    init_cfg=of_init_cfg,
    load_checkpoint=lambda name: load_checkpoint(
        nn.Module(), name)['state_dict']['w'],
    backbone_weights=lambda name: load_plain(name)['state_dict']['w'])


@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('zipped', [True, False])
def test_a_trap_is_not_sprung(way, source, zipped, tmp_path):
    name, path = source
    torch.save(dict(state_dict=dict(w=Trap(tmp_path / 'sprung'))), path,
               _use_new_zipfile_serialization=zipped)
    with pytest.raises(CheckpointError, match=f'{name} cannot be .* plain'):
        WAYS[way](name)
    assert not (tmp_path / 'sprung').exists()


@pytest.mark.parametrize('way', WAYS)
def test_tensors_are_read(way, source, monkeypatch):
    monkeypatch.setenv('TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD', '1')
    name, path = source
    torch.save(dict(state_dict=dict(w=torch.ones(2))), path)
    assert WAYS[way](name).sum() == 2


def test_a_run_ends_with_a_sentence(tiny_config, source, tmp_path):
    name, path = source
    torch.save(Trap(tmp_path / 'sprung'), path)
    cfg = tiny_config(**{'model.backbone.init_cfg': dict(
        type='Pretrained', checkpoint=name)})
    with pytest.raises(CheckpointError, match='cannot be read as plain'):
        ContinualRunner(cfg).train()
    assert not (tmp_path / 'sprung').exists()


def test_a_network_that_loads_while_it_is_built(tiny_config, tmp_path):
    """As timm's do, through torch.hub."""
    from mmseg_spwc.registry import MODELS

    class Hubbed(nn.Module):

        def __init__(self):
            super().__init__()
            torch.load(tmp_path / 'w.pth', weights_only=False)

    torch.save(Trap(tmp_path / 'sprung'), tmp_path / 'w.pth')
    MODELS.register_module(module=Hubbed, force=True)
    cfg = tiny_config(**{'model.backbone': dict(
        _delete_=True, type='mmseg_spwc.Hubbed')})
    with pytest.raises(ValueError, match='Weights only load failed'):
        ContinualRunner(cfg).train()
    assert not (tmp_path / 'sprung').exists()
    MODELS.module_dict.pop('Hubbed')
