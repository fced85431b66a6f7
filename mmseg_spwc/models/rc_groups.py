"""Which convolutions go with which batch norm.

The norm of a convolution is found by name (``conv2`` and ``bn2`` or ``norm2``,
``conv`` and ``bn`` of a ``ConvModule``) or as its successor in an
``nn.Sequential``. A module whose convolutions share one norm over their
concatenation says so by ``rc_groups()``, a list of ([names of convolutions in
the order of concatenation], name of the norm).
"""
from collections.abc import Callable

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmseg_spwc.utils.options import regular_expression

from .rc_layers import DoubledConv

Group = tuple[list[str], str]  # names of convolutions, name of their norm


def matched_groups(
        module: nn.Module,
        match: str | Callable[[str], bool] | None) -> list[Group]:
    """Find the plain convolutions to double, and their batch norms.

    Args:
        module (nn.Module): The network.
        match (str | Callable, optional): A regular expression to be found in
            a convolution's name, a predicate on it, or None for all that
            have a batch norm.

    Returns:
        list[Group]: Names of convolutions and of the norm they share.
    """
    accept = regular_expression(match, 'rc.match').search if isinstance(
        match, str) else match
    groups = find_groups(module, nn.Conv2d, _BatchNorm, accept)
    if not groups:
        raise ValueError(f'no convolution with a batch norm matches {match!r}')
    for convs, norm in groups:
        _check(module, convs, norm)
    return groups


def find_groups(module: nn.Module,
                conv_type: type,
                norm_type: type,
                accept: Callable[[str], bool] | None = None) -> list[Group]:
    """Find convolutions and the norms that follow them.

    Args:
        module (nn.Module): The network.
        conv_type (type): Class of a convolution.
        norm_type (type): Class of a norm.
        accept (Callable, optional): Predicate on the convolutions' names;
            all it accepts must have a norm. Defaults to None, for all that
            have one.

    Returns:
        list[Group]: Names of convolutions and of the norm they share.
    """
    shared = _shared_groups(module)
    names = [
        name for name, part in module.named_modules()
        if isinstance(part, conv_type) and (accept is None or accept(name))
        and not _is_branch(module, name)
    ]
    groups = []
    for name in names:
        group = shared.get(name) or ([name], _partner(module, name, norm_type))
        missing = set(group[0]) - set(names)
        if missing:
            raise ValueError(
                f'{name} shares its norm with {sorted(missing)[0]}, which '
                'does not match: match all of them or none')
        if group[1] is None and accept is not None:
            raise ValueError(
                f'found no batch norm after the convolution {name}: name '
                'them alike (conv2, bn2) or declare them by rc_groups()')
        if group[1] is not None and group not in groups:
            groups.append(group)
    return groups


def _shared_groups(module: nn.Module) -> dict[str, Group]:
    """Groups declared by ``rc_groups()``, by the name of each convolution."""
    groups = {}
    for prefix, part in module.named_modules():
        for convs, norm in getattr(part, 'rc_groups', list)():
            convs = [_join(prefix, name) for name in convs]
            groups.update(
                dict.fromkeys(convs, (convs, _join(prefix, norm))))
    return groups


def _partner(module: nn.Module, name: str, norm_type: type) -> str | None:
    """Name of the norm that belongs to a convolution by its own name."""
    prefix, _, leaf = name.rpartition('.')
    parent = module.get_submodule(prefix)
    candidates = [leaf.replace('conv', 'bn'), leaf.replace('conv', 'norm')]
    if isinstance(parent, nn.Sequential) and leaf.isdigit():
        candidates.append(str(int(leaf) + 1))
    for candidate in candidates:
        if isinstance(getattr(parent, candidate, None), norm_type):
            return _join(prefix, candidate)
    return None


def _is_branch(module: nn.Module, name: str) -> bool:
    """Whether a convolution is already one of two branches."""
    parent = module.get_submodule(name.rpartition('.')[0])
    return isinstance(parent, DoubledConv)


def _check(module: nn.Module, convs: list[str], norm: str) -> None:
    """Check that a norm can be folded into its convolutions."""
    channels = sum(module.get_submodule(c).out_channels for c in convs)
    layer = module.get_submodule(norm)
    if layer.num_features != channels:
        raise ValueError(f'{norm} normalises {layer.num_features} channels, '
                         f'but {", ".join(convs)} have {channels}')
    if not (layer.affine and layer.track_running_stats):
        raise ValueError(f'{norm} needs affine=True and '
                         'track_running_stats=True to be folded')


def _join(prefix: str, name: str) -> str:
    return f'{prefix}.{name}' if prefix else name
