"""Representation compensation: two branches that fold into one.

`RCIL <https://arxiv.org/abs/2203.05402>`_ trains two parallel convolutions,
each with its own batch norm, in place of one: branch ``old`` remembers,
branch ``new`` learns. In evaluation their outputs are averaged, which is one
linear map, so both fold into one plain convolution and batch norm::

    add_branches(model, r'\\.conv2$')     # before training a step
    ...
    merge_branches(model)                # the plain network again

The convolution's place returns the maps of both branches side by side,
(B, 2C, H, W), and the norm's place takes them apart, normalises each and fuses
them to (B, C, H, W).

The norm of a convolution is found by name (``conv2`` and ``bn2`` or ``norm2``,
``conv`` and ``bn`` of a ``ConvModule``) or as its successor in an
``nn.Sequential``. A module whose convolutions share one norm over their
concatenation says so by ``rc_groups()``, a list of ([names of convolutions in
the order of concatenation], name of the norm).
"""
from collections.abc import Callable, Iterator

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmseg_spwc.utils.options import regular_expression

from .rc_layers import Doubled, DoubledConv, FusedNorm, double, fold

Group = tuple[list[str], str]  # names of convolutions, name of their norm


def add_branches(module: nn.Module,
                 match: str | Callable[[str], bool] | None = None,
                 frozen: bool = True, init: str = 'merged',
                 branches: dict[str, Tensor] | None = None,
                 folded: bool = False) -> nn.Module:
    """Double convolutions and their batch norms, in place.

    Branch ``new`` starts, by ``init``,

    - 'merged': as a copy of the plain layers, so that the doubled network
      computes what the plain one does;
    - 'carry': from ``branches``, as in the authors' code; the function
      then jumps to 1/4 old + 3/4 new of the previous step;
    - 'independent': with kernels drawn anew in the spread of the plain ones,
      for a head without pretraining.

    Args:
        module (nn.Module): The network.
        match (str | Callable, optional): Which convolutions, by name: a
            regular expression to be found in it, or a predicate. Defaults to
            None, for all that have a batch norm.
        frozen (bool): Whether branch ``old`` is kept from training; at the
            first step both train. Defaults to True.
        init (str): See above. Defaults to 'merged'.
        branches (dict, optional): What :func:`export_branches` returned
            before the last merge; only for 'carry'. Defaults to None.
        folded (bool): Fold the norm of a frozen branch ``old`` into its
            convolution while training: faster, and equal up to rounding (see
            :class:`FoldedNorm`). Defaults to False.

    Returns:
        nn.Module: The same module.
    """
    check_init(init)
    if (init == 'carry') != (branches is not None):
        raise ValueError("init='carry' needs the branches exported before "
                         'the last merge, and no other init takes them')
    for convs, norm in matched_groups(module, match):
        fused = double([module.get_submodule(name) for name in convs],
                       module.get_submodule(norm), frozen, folded)
        for name, part in zip([norm, *convs], [fused, *fused.convs],
                              strict=True):
            _replace(module, name, part)
        if init == 'independent':
            for conv in fused.convs:
                std = conv.old.weight.std().item()
                nn.init.normal_(conv.new.weight, std=std)
    if init == 'carry':
        import_branches(module, branches)
    return module


def check_init(init: str) -> None:
    """Refuse an unknown start of the new branches."""
    if init not in ('merged', 'carry', 'independent'):
        raise ValueError("rc.init must be 'merged', 'carry' or "
                         f"'independent', got {init!r}")


def _replace(module: nn.Module, name: str, part: nn.Module) -> None:
    parent, _, leaf = name.rpartition('.')
    setattr(module.get_submodule(parent), leaf, part)


def merge_branches(module: nn.Module) -> nn.Module:
    """Fold all branches of a network, if any, into plain layers, in place.

    In evaluation the plain network computes what was trained.
    """
    parts = [*_doubled_parts(module)]
    for _, part in parts:
        if isinstance(part, FusedNorm):
            fold(part)
    for name, part in parts:
        _replace(module, name, part.new)
    return module


def export_branches(module: nn.Module) -> dict[str, Tensor]:
    """Copy the branches ``new``, by the plain layers' names."""
    return {f'{name}.{key}': value.clone()
            for name, part in _doubled_parts(module)
            for key, value in part.new.state_dict().items()}


def import_branches(module: nn.Module, branches: dict[str, Tensor]) -> None:
    """Load into the branches ``new`` what was exported."""
    for name, part in _doubled_parts(module):
        keys = part.new.state_dict()
        missing = [k for k in keys if f'{name}.{k}' not in branches]
        if missing:
            raise KeyError(f'the branches hold no {name}.{missing[0]}: they '
                           'were exported from another network')
        part.new.load_state_dict({k: branches[f'{name}.{k}'] for k in keys})


def _doubled_parts(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for name, part in module.named_modules():
        if isinstance(part, Doubled):
            yield name, part


def matched_groups(module: nn.Module,
                   match: str | Callable[[str], bool] | None) -> list[Group]:
    """Find the convolutions to double and their batch norms."""
    accept = regular_expression(match, 'rc.match').search if isinstance(
        match, str) else match
    groups = _find_groups(module, accept)
    if not groups:
        known = [c for convs, _ in _find_groups(module, None) for c in convs]
        raise ValueError(
            f'no convolution with a batch norm matches {match!r}: let '
            'rc.match fit some of those of this network, which are '
            f'{", ".join(known[:8]) or "none"}'
            f'{", ..." if len(known) > 8 else ""}')
    for convs, norm in groups:
        channels = sum(module.get_submodule(c).out_channels for c in convs)
        layer = module.get_submodule(norm)
        if layer.num_features != channels:
            raise ValueError(
                f'{norm} normalises {layer.num_features} channels, but '
                f'{", ".join(convs)} have {channels}')
        if not (layer.affine and layer.track_running_stats):
            raise ValueError(f'{norm} needs affine=True and '
                             'track_running_stats=True to be folded')
    return groups


def _find_groups(module: nn.Module,
                 accept: Callable[[str], bool] | None) -> list[Group]:
    """All that ``accept`` allows must have a norm; None is for all that do."""
    shared = _shared_groups(module)
    names = [
        name for name, part in module.named_modules()
        if isinstance(part, nn.Conv2d) and (accept is None or accept(name))
        and not isinstance(module.get_submodule(name.rpartition('.')[0]),
                           DoubledConv)
    ]
    groups = []
    for name in names:
        group = shared.get(name) or ([name], _partner(module, name))
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
    """Those declared by ``rc_groups()``, by the name of each convolution."""
    groups = {}
    for prefix, part in module.named_modules():
        for convs, norm in getattr(part, 'rc_groups', list)():
            norm, *convs = (f'{prefix}.{name}'.lstrip('.')
                            for name in [norm, *convs])
            groups.update(dict.fromkeys(convs, (convs, norm)))
    return groups


def _partner(module: nn.Module, name: str) -> str | None:
    """Name of the norm that belongs to a convolution by its own name."""
    prefix, _, leaf = name.rpartition('.')
    parent = module.get_submodule(prefix)
    candidates = [leaf.replace('conv', 'bn'), leaf.replace('conv', 'norm')]
    if isinstance(parent, nn.Sequential) and leaf.isdigit():
        candidates.append(str(int(leaf) + 1))
    for candidate in candidates:
        if isinstance(getattr(parent, candidate, None), _BatchNorm):
            return f'{prefix}.{candidate}'.lstrip('.')
    return None
