"""From the config of a sequence to the config of one of its steps."""
import copy
from collections.abc import Mapping

from mmengine.config import Config

from mmseg_spwc.scenario import Scenario

from .config_keys import KEYS, ConfigError, overrides

SAMPLERS = dict(
    DefaultSampler='mmseg_spwc.SeededSampler',
    InfiniteSampler='mmseg_spwc.SeededInfiniteSampler')

CROPS = ('mmseg_spwc.AreaRandomResizedCrop', 'mmseg_spwc.ShortSideCentreCrop')


def step_config(cfg: Config,
                scenario: Scenario,
                step: int,
                world_size: int = 1) -> Config:
    """Return the complete MMEngine config of one step.

    A pure function of its arguments: what it returns is exactly what
    ``tools/misc/print_config.py CONFIG --step N`` prints and what runs.

    The order of merging is: the config itself, what the scenario decides
    (channels, images, labels, metric), the schedule's overrides, the
    method's overrides. So a method may change everything, for instance
    ``train_dataloader.dataset.cumulative``.

    Args:
        cfg (Config): The config of the sequence.
        scenario (Scenario): What is learnt when.
        step (int): The step, from 0.
        world_size (int): Number of processes. Defaults to 1.

    Returns:
        Config: A config that ``Runner.from_cfg`` takes.
    """
    method = cfg['method']
    stage = 'first' if step == 0 or method.get('restart') else 'later'
    base = {k: v for k, v in cfg.to_dict().items() if k not in KEYS}
    out = Config(copy.deepcopy(base), filename=cfg.filename)
    seed = (cfg.get('randomness') or {}).get('seed') or 0
    # mmseg's own configs keep a tuple under this name, for themselves
    crop = cfg.get('crop_size')
    crop = crop if isinstance(crop, int) else None
    _set_model(out, scenario, step, crop)
    _set_data(out, cfg, scenario, step, world_size, seed, crop)
    _set_runtime(out, cfg, step, seed)
    out.hooks = dict(transition=_transition(cfg, step, stage))
    if cfg.get('self_paced') and stage == 'later':
        out.hooks['self_paced'] = dict(
            type='mmseg_spwc.SelfPacedHook',
            step=step,
            scenario=scenario.to_dict(),
            record=f'{cfg.work_dir}/record.json',
            **cfg.self_paced.to_dict())
    for group in (cfg.get('schedule'), method):
        for change in overrides(group, stage, step):
            out.merge_from_dict(_plain(change))
    _finish(out)
    return out


def _plain(mapping: Mapping) -> dict:
    return Config(dict(mapping)).to_dict() if mapping else {}


def _set_model(out: Config, scenario: Scenario, step: int,
               crop: int | None) -> None:
    kind = str(out.model.type).rpartition('.')[2]
    if kind not in ('EncoderDecoder', 'ContinualEncoderDecoder'):
        raise ConfigError(
            f'The model is a {out.model.type}; a sequence can be trained '
            'with mmseg configs of type EncoderDecoder.')
    out.model.type = 'mmseg_spwc.ContinualEncoderDecoder'
    out.model.channels = list(scenario.channels(step))
    out.model.setdefault('losses', {})
    if crop is not None:
        out.model.data_preprocessor.size = (crop, crop)
    heads = [out.model.decode_head]
    auxiliary = out.model.get('auxiliary_head')
    if auxiliary:
        heads += auxiliary if isinstance(auxiliary, list) else [auxiliary]
    for head in heads:
        head.num_classes = scenario.num_channels(step)


def _set_data(out: Config, cfg: Config, scenario: Scenario, step: int,
              world_size: int, seed: int, crop: int | None) -> None:
    train, test = out.train_dataloader, out.test_dataloader
    if not test.get('batch_size'):
        test.batch_size = 1
    heldout = dict(cfg.get('heldout') or {})
    common = dict(
        type='mmseg_spwc.ContinualSegDataset',
        scenario=scenario.to_dict(),
        step=step,
        heldout=heldout,
        cache_dir=cfg.get('cache_dir'))
    scored = copy.deepcopy(train.dataset)
    _replace_pipeline(scored, _first_pipeline(test.dataset))
    for dataset in (train.dataset, scored, test.dataset):
        _set_root_and_crop(dataset, cfg.get('data_root'), crop)
    for name in ('train_pipeline', 'test_pipeline'):  # inference reads one
        _set_crop(out.get(name) or [], crop)
    validation = copy.deepcopy(test)
    train.dataset = dict(
        common, dataset=train.dataset, role='train', seed=seed + step)
    validation.dataset = dict(common, dataset=scored, role='heldout')
    test.dataset = dict(common, dataset=test.dataset, role='test')
    out.val_dataloader = validation
    _set_batch(train, cfg.get('total_batch_size'), world_size)
    sampler = train.get('sampler') or dict(
        type='DefaultSampler', shuffle=True)
    sampler['type'] = SAMPLERS.get(sampler['type'], sampler['type'])
    train.sampler = sampler
    metric = dict(
        type='mmseg_spwc.ContinualIoUMetric',
        scenario=scenario.to_dict(),
        step=step)
    out.val_evaluator = metric
    out.test_evaluator = [metric, *_other_metrics(out.get('test_evaluator'))]
    out.val_cfg = dict(type='ValLoop')
    out.test_cfg = dict(type='TestLoop')
    if not heldout.get('ratio'):
        out.val_dataloader = out.val_evaluator = out.val_cfg = None


def _set_batch(loader: Config, total: int | None, world_size: int) -> None:
    if total is None:
        return
    if total % world_size:
        raise ConfigError(
            f'total_batch_size={total} cannot be split over {world_size} '
            'processes: use a number of processes that divides it.')
    loader.batch_size = total // world_size


def _set_runtime(out: Config, cfg: Config, step: int, seed: int) -> None:
    out.work_dir = f'{cfg.work_dir}/step_{step:02d}'
    out.randomness = dict(out.get('randomness') or {}, seed=seed + step)
    out.resume = False
    out.load_from = None
    out.runner_type = 'Runner'
    name = out.get('experiment_name') or 'run'
    out.experiment_name = f'{name}_step_{step:02d}'
    if out.get('visualizer'):
        out.visualizer.name = f'{name}_step_{step:02d}'


def _transition(cfg: Config, step: int, stage: str) -> dict:
    hook = dict(type='mmseg_spwc.StepTransitionHook', step=step)
    if stage == 'first':
        hook['backbone_weights'] = cfg.get('backbone_weights')
    else:
        hook['previous'] = checkpoint_path(cfg.work_dir, step - 1)
    return hook


def checkpoint_path(work_dir: str, step: int) -> str:
    """Where the weights of a finished step are kept."""
    return f'{work_dir}/step_{step:02d}/final.pth'


def _finish(out: Config) -> None:
    """Turn the named hooks into MMEngine's list, and end the schedulers."""
    named = out.pop('hooks')
    out.custom_hooks = [
        *(out.get('custom_hooks') or []),
        *(hook for hook in named.values() if hook),
        dict(type='mmseg_spwc.ResumeStateHook'),
    ]
    by_epoch = 'max_epochs' in out.train_cfg
    length = out.train_cfg['max_epochs' if by_epoch else 'max_iters']
    if 'val_interval' not in out.train_cfg:
        # units are scored behind the end of a step, not inside it
        out.train_cfg.update(val_interval=length + 1, val_begin=length + 1)
    schedulers = out.get('param_scheduler') or []
    if isinstance(schedulers, Mapping):
        schedulers = [schedulers]
    for scheduler in schedulers:
        scheduler.setdefault('end', length)
    out.param_scheduler = schedulers


def _other_metrics(evaluator) -> list:
    if not evaluator:
        return []
    metrics = evaluator if isinstance(evaluator, list) else [evaluator]
    return [m for m in metrics if m['type'] != 'IoUMetric']


def _first_pipeline(dataset: Mapping) -> list:
    parts = dataset.get('datasets') or [dataset]
    return copy.deepcopy(parts[0]['pipeline'])


def _replace_pipeline(dataset: Mapping, pipeline: list) -> None:
    for part in dataset.get('datasets') or [dataset]:
        part['pipeline'] = copy.deepcopy(pipeline)


def _set_root_and_crop(dataset: Mapping, root: str | None,
                       crop: int | None) -> None:
    for part in dataset.get('datasets') or [dataset]:
        if root is not None:
            part['data_root'] = root
        _set_crop(part['pipeline'], crop)


def _set_crop(pipeline: list, crop: int | None) -> None:
    for transform in pipeline:
        if transform['type'] in CROPS and crop is not None:
            transform['size'] = crop
