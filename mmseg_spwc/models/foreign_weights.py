"""Backbone weights from elsewhere, under the names mmseg gives them.

Understood are the checkpoints of Mapillary's in-place ABN ResNets (the
ImageNet weights of MiB, PLOP and RCIL), torchvision's ResNets and
MobileNetV2, and mmseg's own. The format is told from the key names.
"""
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from mmseg.models.backbones import MobileNetV2, ResNet
from torch import Tensor, nn

ABN_EPS = 1e-5
SHOWN = 5  # keys of each kind that an error names


class Format(NamedTuple):
    name: str  # what an error message calls it
    mark: str  # a key that no other format has
    backbone: type  # class of the backbones it fits
    convert: Callable[[dict, nn.Module], dict]  # to mmseg's names


def convert_state_dict(state: Mapping, backbone: nn.Module) -> dict:
    """Rename (and where need be, recompute) weights for a backbone of mmseg.

    The state dict is in any understood format, bare or as ``state_dict`` in a
    checkpoint, with or without the prefixes ``module.`` and ``backbone.``.
    Layers that the backbone does not have (ImageNet classifiers) are dropped.
    """
    state = _unwrap(state)
    for form in FORMATS:
        if form.mark not in state:
            continue
        if not isinstance(backbone, form.backbone):
            raise ValueError(
                f'The weights are of a {form.name}, which does not fit a '
                f'{type(backbone).__name__}: use a {form.backbone.__name__} '
                'or other weights.')
        return form.convert(state, backbone)
    return state


def load_backbone_weights(backbone: nn.Module, state: Mapping,
                          source: str = '') -> None:
    """Convert weights and load them, all of them or none.

    Every parameter and every running statistic of the backbone must be
    provided in the right shape; only ``num_batches_tracked`` may be absent.
    """
    given = _without_counters(convert_state_dict(state, backbone))
    wanted = _without_counters(backbone.state_dict())
    faults = {
        'missing': [k for k in wanted if k not in given],
        'unexpected': [k for k in given if k not in wanted],
        'mis-shaped': [
            f'{k} {tuple(given[k].shape)} for {tuple(wanted[k].shape)}'
            for k in wanted if k in given and given[k].shape != wanted[k].shape
        ],
    }
    if any(faults.values()):
        raise ValueError(_fault_message(faults, backbone, source))
    backbone.load_state_dict(given, strict=False)


def _fault_message(faults: dict, backbone: nn.Module, source: str) -> str:
    origin = f' from {source}' if source else ''
    lines = [f'The weights{origin} do not fit {type(backbone).__name__}:']
    for kind, keys in faults.items():
        if keys:
            more = ', ...' if len(keys) > SHOWN else ''
            lines.append(
                f'  {len(keys)} {kind}: {", ".join(keys[:SHOWN])}{more}')
    names = ', '.join(dict.fromkeys(form.name for form in FORMATS))
    lines.append(f'Understood are: {names}, and mmseg backbones, each of the '
                 'same depth and width as the model.')
    return '\n'.join(lines)


def _without_counters(state: Mapping) -> dict:
    return {key: value for key, value in state.items()
            if not key.endswith('num_batches_tracked')}


def _unwrap(state: Mapping) -> dict:
    """Take a state dict out of a checkpoint, a DDP wrapper, a segmentor."""
    if not isinstance(state, Mapping):
        raise TypeError('Weights must be a state dict or a checkpoint that '
                        f'holds one, but got {type(state).__name__}.')
    if isinstance(state.get('state_dict'), Mapping):
        state = state['state_dict']
    state = {k.removeprefix('module.'): v for k, v in state.items()}
    return _under('backbone.', state) or state


def _under(prefix: str, state: Mapping) -> dict:
    return {key.removeprefix(prefix): value
            for key, value in state.items() if key.startswith(prefix)}


def _without(prefix: str, state: Mapping) -> dict:
    return {k: v for k, v in state.items() if not k.startswith(prefix)}


def _convert_iabn_resnet(state: dict, backbone: ResNet) -> dict:
    """Names of stages and blocks start elsewhere, and gamma needs care.

    An in-place ABN scales by abs(gamma) + eps, since it must be able to
    invert its output; an ordinary batch norm scales by gamma.
    """
    converted = {}
    for key, value in _without('classifier.', state).items():
        if re.search(r'bn\d?\.weight$', key):
            value = value.abs() + ABN_EPS
        converted[_rename_iabn(key)] = value
    return converted


def _rename_iabn(key: str) -> str:
    key = re.sub(
        r'^mod(\d+)\.block(\d+)\.(convs\.)?',
        lambda m: f'layer{int(m[1]) - 1}.{int(m[2]) - 1}.', key)
    key = key.removeprefix('mod1.')
    key = key.replace('proj_conv.', 'downsample.0.')
    return key.replace('proj_bn.', 'downsample.1.')


def _convert_mobilenet_v2(state: dict, backbone: MobileNetV2) -> dict:
    """torchvision counts blocks through, mmseg by stage and without the last
    1x1 convolution to 1280 channels."""
    blocks = [f'{stage}.{i}' for stage in backbone.layers
              for i in range(len(getattr(backbone, stage)))]
    converted = {}
    for index, block in enumerate(blocks, start=1):
        layers = _under(f'features.{index}.conv.', state)
        converted |= {f'{block}.conv.{name}': value
                      for name, value in _mmseg_layers(layers)}
    stem = _under('features.0.', state)
    converted |= {f'conv1.{_CONV_BN[name[0]]}{name[1:]}': value
                  for name, value in stem.items()}
    return converted


_CONV_BN = {'0': 'conv', '1': 'bn'}


def _mmseg_layers(layers: dict[str, Tensor]) -> Iterable[tuple[str, Tensor]]:
    """Rename the layers of one inverted residual.

    torchvision nests a convolution with its norm ('0.0.weight',
    '0.1.weight') except the last pair, which stands flat ('2.weight',
    '3.weight'); mmseg nests them all ('2.conv.weight', '2.bn.weight').
    """
    last = max((int(name[0]) for name in layers), default=0) - 1
    for name, value in layers.items():
        index, inner, *rest = name.split('.')
        if not rest:
            inner, rest = str(int(index) - last), [inner]
            index = str(last)
        yield '.'.join([index, _CONV_BN[inner], *rest]), value


FORMATS = (
    Format('Mapillary in-place ABN ResNet', 'mod1.conv1.weight', ResNet,
           _convert_iabn_resnet),
    Format('torchvision MobileNetV2', 'features.0.0.weight', MobileNetV2,
           _convert_mobilenet_v2),
    # its names are mmseg's; only the classifier is in excess
    Format('torchvision ResNet', 'fc.weight', ResNet,
           lambda state, backbone: _without('fc.', state)),
)
