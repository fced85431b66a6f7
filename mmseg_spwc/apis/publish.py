"""The model of a finished step, as plain mmseg or MMPretrain load it."""
import ast
import copy
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.runner import load_checkpoint
from torch import Tensor, nn

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.growing import joined_state
from mmseg_spwc.models.student import EXTRA
from mmseg_spwc.record import Record
from mmseg_spwc.registry import MODELS, TRANSFORMS
from mmseg_spwc.scenario import build_scenario
from mmseg_spwc.utils.files import atomic_path, write_tensors, write_text
from mmseg_spwc.visualization.runs import Run

from .foreign import without_sources
from .inference import default_size, is_classifier
from .step_model import StepModel, find_step, guarded, load_run_step

ORDERS = ('learning', 'dataset')
TOLERANCE = 1e-4
# what a config of values is made of; of calls, dict() alone
PLAIN = (ast.Module, ast.Assign, ast.keyword, ast.Constant, ast.Name, ast.List,
         ast.Tuple, ast.Dict, ast.UnaryOp, ast.USub, ast.expr_context)
_RESIZED = 'mmseg_spwc.ShortSideCentreCrop'


def publish(source: str | Path,
            out: str | Path | None = None,
            step: int | None = None,
            order: str = 'learning',
            exports: Sequence[str] = (),
            size: Sequence[int] | None = None,
            force: bool = False,
            trust: bool = False) -> list[Path]:
    """Write a step's weights and a plain config; return the files.

    ``mmseg.apis.init_model`` and ``mmpretrain.get_model`` take the two. What
    was written is loaded again and compared with the step's own network. Each
    head becomes a model. ``source`` is the folder of a run, of which the last
    step is published by default, or ``final.pth`` of a step. Channels are in
    the ``order`` of ``'learning'`` or of the ``'dataset'``; exports are
    ``'torchscript'`` and ``'onnx'``, for images of a ``size`` (height, width).
    """
    if order not in ORDERS:
        raise ConfigError(f'order is {order!r}: choose one of '
                          f'{", ".join(ORDERS)}.')
    if out and Path(out).resolve() == Path(source).resolve():
        raise ConfigError(f'{out} is the step itself: give another file.')
    run, checkpoint = find_step(Path(source), step, trust)
    out = Path(out) if out else run.folder / 'published' / (
        checkpoint.parent.name + '.pth')
    loaded = load_run_step(run, checkpoint)
    _check_accepted(run.record, loaded.step, force)
    options = loaded.cfg.model.get('classifier') or {}
    if options.get('hidden') or options.get('unknown'):
        raise ConfigError(
            f'{checkpoint} cannot be published: the rows of its classifier '
            'have hidden layers, or one is of the unknown, which a plain '
            'model of mmseg does not have.')
    written = []
    for name, channels in heads_of(loaded, order).items():
        target = out.with_name(f'{out.stem}{name}{out.suffix}')
        cfg = plain_config(loaded, len(channels))
        text = config_text(cfg, _heading(run, loaded, channels, order))
        with guarded(run):
            model = _build(cfg)
        state = {
            key: value for key, value in joined_state(
                loaded.model.state_dict(), channels).items()
            if EXTRA not in key}
        write_tensors(
            target, dict(meta=_meta(loaded, channels), state_dict=state))
        write_text(target.with_suffix('.py'), text)
        load_checkpoint(model, str(target), map_location='cpu', strict=True)
        _compare(model, loaded, channels)
        written += [target, target.with_suffix('.py')]
        written += [export(model, loaded, target, kind, size)
                    for kind in exports]
    return written


def _check_accepted(record: Record, step: int, force: bool) -> None:
    accepted = record.step(step).get('accepted')
    if accepted and not accepted['passed'] and not force:
        raise ConfigError(f'Step {step} was not accepted '
                          f'({accepted["reason"]}): publish it with --force.')


def heads_of(loaded: StepModel, order: str) -> dict[str, list[int]]:
    """Channels of every model to write, by what its file is called.

    Heads that do not compete are models of their own, ``_task_0``, ...
    """
    scenario = build_scenario(loaded.cfg.test_dataloader.dataset.scenario)
    ids = scenario.seen_classes(loaded.step)

    def ordered(channels: Iterable) -> list:
        return list(channels) if order == 'learning' else sorted(
            channels, key=lambda c: ids[c])

    if not getattr(loaded.model, 'per_task', False):
        return {'': ordered(range(sum(loaded.model.channels)))}
    return {f'_task_{task}': ordered(range(first, first + number))
            for task, (first, number) in enumerate(loaded.model.heads)}


def plain_config(loaded: StepModel, num_classes: int) -> Config:
    """Return a config of mmseg's or MMPretrain's own for inference.

    Parts that only this package has stay, and ``custom_imports`` names them.
    """
    given = loaded.cfg.model.to_dict()
    segments = not is_classifier(loaded)
    kind = 'EncoderDecoder' if segments else 'ImageClassifier'
    scope = 'mmseg' if segments else 'mmpretrain'
    known = inspect.signature(MODELS.get(f'{scope}.{kind}')).parameters
    model = without_sources({k: v for k, v in given.items() if k in known})
    model.update(type=kind, init_cfg=None, train_cfg=None)
    for part in ('backbone', 'decode_head', 'head'):
        if model.get(part):
            model[part].update(init_cfg=None)
    if segments:
        pipeline = _segmenting(loaded)
        content = dict(model=model, test_pipeline=pipeline)
    else:
        model['head']['num_classes'] = num_classes
        pipeline = _classifying(loaded)
        model['data_preprocessor'] = dict(
            {k: v for k, v in given['data_preprocessor'].items()
             if k != 'type'}, num_classes=num_classes)
        if pipeline[0].get('color_type') != 'grayscale':
            # our own datasets give RGB, a file is read as BGR
            model['data_preprocessor']['to_rgb'] = True
        content = dict(model=model)
    content = dict(
        content,
        default_scope=scope,
        test_dataloader=dict(dataset=dict(pipeline=pipeline)))
    content = _on_one_device(content)
    if own_parts(content):
        content['custom_imports'] = dict(imports=['mmseg_spwc.models'])
    return Config(content)


def config_text(cfg: Config, heading: str = '') -> str:
    """Write a config as Python that holds values and nothing that runs.

    MMEngine does not escape keys, and replaces ``{{...}}`` before Python
    reads, even in a comment.
    """
    text = heading + cfg.pretty_text
    if '{{' in text or not all(map(_is_plain, ast.walk(ast.parse(text)))):
        raise ConfigError('The config cannot be published: it has keys or '
                          'values that Python or MMEngine would not read '
                          'back as they are.')
    return text


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == 'dict'
    return isinstance(node, PLAIN)


def own_parts(content: object) -> list[str]:
    """Types of a config that only this package has."""
    if isinstance(content, Mapping):
        kind = str(content.get('type', ''))
        own = [kind] if kind.startswith('mmseg_spwc.') else []
        return own + [t for v in content.values() for t in own_parts(v)]
    if isinstance(content, (list, tuple)):
        return [t for v in content for t in own_parts(v)]
    return []


def _on_one_device(content: object) -> object:
    """The same without SyncBN, which normalises over processes."""
    if isinstance(content, Mapping):
        return {k: 'BN' if (k, v) == ('type', 'SyncBN') else _on_one_device(v)
                for k, v in content.items()}
    if isinstance(content, list):
        return [_on_one_device(v) for v in content]
    return content


def _segmenting(loaded: StepModel) -> list[dict]:
    """The steps that turn an image file into what a segmentor takes."""
    source = loaded.cfg.test_dataloader.dataset.dataset
    source = (source.get('datasets') or [source])[0].to_dict()
    steps = []
    for transform in source['pipeline']:
        if transform['type'] == _RESIZED:  # its centre crop is for scoring
            transform = dict(type='Resize', keep_ratio=True,
                             scale=(1_000_000, transform['size']))
        elif transform['type'] == 'mmseg_spwc.PackSample':
            transform = dict(transform, type='PackSegInputs')
        if not transform['type'].endswith('LoadAnnotations'):
            steps.append(transform)
    return steps


def _classifying(loaded: StepModel) -> list[dict]:
    """The same for a classifier."""
    source = loaded.cfg.test_dataloader.dataset.dataset
    if source.get('pipeline'):
        return [t.to_dict() for t in source.pipeline]
    grey = _num_inputs(loaded) == 1
    steps = [dict(type='LoadImageFromFile',
                  **(dict(color_type='grayscale') if grey else {}))]
    side = default_size(loaded.cfg)
    if side:
        pad = source.get('pad', 0)
        steps.append(dict(type='Resize', scale=(side - 2 * pad, ) * 2))
        if pad:
            steps.append(dict(type='Pad', padding=pad))
    return [*steps, dict(type='PackInputs')]


def _num_inputs(loaded: StepModel) -> int:
    mean = getattr(loaded.model.data_preprocessor, 'mean', None)
    return 3 if mean is None else mean.numel()


def _meta(loaded: StepModel, channels: Sequence[int]) -> dict:
    info = {
        key: [values[c] for c in channels]
        for key, values in (('classes', loaded.classes),
                            ('palette', loaded.palette)) if values
    }
    return dict(dataset_meta=info)


def _heading(run: Run, loaded: StepModel, channels: Sequence[int],
             order: str) -> str:
    """Comments; a stranger's words cannot end them, as JSON they are one
    line."""
    about = f'step {loaded.step} of {run.method}, learnt in ' \
        f'{run.record.content["run"]["name"]}'
    names = [loaded.classes[c] for c in channels if loaded.classes]
    return (f'# {json.dumps(about)[1:-1]}\n# channels, in {order} order: '
            f'{json.dumps(names)}\n')


def _build(cfg: Config) -> nn.Module:
    """Build what its users will; the transforms only to see that they do."""
    init_default_scope(cfg.default_scope)
    for transform in cfg.test_dataloader.dataset.pipeline:
        TRANSFORMS.build(transform)
    return MODELS.build(copy.deepcopy(cfg.model)).eval()


@torch.no_grad()
def _compare(model: nn.Module, loaded: StepModel,
             channels: Sequence[int]) -> None:
    """Refuse a model that does not compute what the step's does."""
    x = torch.randn(1, _num_inputs(loaded), *_sides(loaded),
                    generator=torch.Generator().manual_seed(0))
    ours = loaded.model
    wanted = ours.classifier(ours.pre_logits(x)) if is_classifier(loaded) \
        else ours(x, mode='tensor')
    error = (model(x, mode='tensor') - wanted[:, list(channels)]).abs().max()
    if not error <= TOLERANCE:
        raise RuntimeError(
            f'The published model differs from the step by {error:.2g}: its '
            'network is built otherwise by the plain config. Please report '
            'the config.')


def _sides(loaded: StepModel,
           size: Sequence[int] | None = None) -> tuple[int, int]:
    side = default_size(loaded.cfg) or 64
    return tuple(size or (side, side))


class Deployed(nn.Module):
    """A plain network that takes an image as it is.

    In: RGB (or grey) values from 0 to 255, (B, C, H, W). Out: the logits, (B,
    classes), or (B, classes, H, W) at the size of the image.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        pre = model.data_preprocessor
        for name, default in (('mean', 0.), ('std', 1.)):
            value = getattr(pre, name, None)
            value = torch.tensor(default) if value is None else value
            self.register_buffer(name, value.detach().reshape(-1, 1, 1))

    def forward(self, image: Tensor) -> Tensor:
        logits = self.model((image - self.mean) / self.std, mode='tensor')
        if logits.dim() == 2:
            return logits
        return nn.functional.interpolate(
            logits, image.shape[2:], mode='bilinear',
            align_corners=self.model.align_corners)


def export(model: nn.Module,
           loaded: StepModel,
           target: Path,
           kind: str,
           size: Sequence[int] | None = None) -> Path:
    """Write a network that needs neither this package nor OpenMMLab.

    It is :class:`Deployed`, traced for images of one size.
    """
    if kind not in EXPORTS:
        raise ConfigError(f'There is no export {kind!r}: choose one of '
                          f'{", ".join(EXPORTS)}.')
    suffix, write = EXPORTS[kind]
    target = target.with_suffix(suffix)
    image = torch.rand(1, _num_inputs(loaded), *_sides(loaded, size)) * 255
    with atomic_path(target) as temporary, torch.no_grad():
        write(Deployed(model).eval(), image, str(temporary))
    return target


def _torchscript(network: nn.Module, image: Tensor, path: str) -> None:
    torch.jit.trace(network, image).save(path)


def _onnx(network: nn.Module, image: Tensor, path: str) -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ConfigError('ONNX needs the package onnx: pip install onnx.'
                          ) from error
    batch = dict(image={0: 'batch'}, logits={0: 'batch'})
    torch.onnx.export(network, (image, ), path, input_names=['image'],
                      output_names=['logits'], dynamic_axes=batch,
                      dynamo=False)


EXPORTS = dict(torchscript=('.pt', _torchscript), onnx=('.onnx', _onnx))
