"""Any two options that a method's fragment may combine train two steps."""
import itertools

import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.runtime.checkpoint import load_step

DOUBLED = r'(\.conv2|aspp_convs\.\d)$'


def later(**model):
    return dict(later=dict(model=model))


def loss(name, kind, **options):
    return later(losses={
        name: dict(type=f'mmseg_spwc.{kind}', **options)})


def branches(**options):
    return dict(
        every=dict(model=dict(rc=dict(match=DOUBLED, **options))),
        first=dict(model=dict(rc=dict(frozen=False))))


def initial(policy, **options):
    return dict(later=dict(hooks=dict(
        transition=dict(classifier_init=policy, **options))))


def consolidation(name):
    method = Config.fromfile(
        f'configs/_base_/methods/{name}.py').method.to_dict()
    del method['every']['model']  # the losses have slots of their own
    return method


def hook(kind, stage, **options):
    return {stage: dict(hooks={
        kind: dict(type=f'mmseg_spwc.{kind}', **options)})}


# slot of a config: its values; two values of a slot exclude each other
OPTIONS = {
    'rc': {
        'rc-merged': branches(init='merged'),
        'rc-carry': branches(init='carry'),
        'rc-independent': branches(init='independent'),
        'rc-folded': branches(folded=True),
    },
    'frozen_norm': {
        'norms-of-later-steps': later(frozen_norm='.'),
        'norms-of-every-step': dict(every=dict(model=dict(frozen_norm='.'))),
    },
    'pre_activation': {
        'pre-activation': later(pre_activation=True),
    },
    'channels_last': {
        'channels-last': dict(every=dict(model=dict(channels_last=True))),
    },
    'teacher_dtype': {
        'bfloat16-teacher': later(teacher_dtype='bfloat16'),
    },
    'pseudo_label': {
        'entropy': {
            **later(pseudo_label=dict(portion=0.5)),
            **hook('PseudoLabelHook', 'every'),
        },
        'confidence': later(pseudo_label=dict(confidence=0.5)),
    },
    'pixel': {
        'unbiased-ce': loss('pixel', 'UnbiasedCrossEntropyLoss'),
        'bce': loss('pixel', 'ClassBCELoss'),
        'new-classes-only': later(
            losses=dict(pixel=dict(ignore_background=True))),
    },
    'kd': {
        'kd': loss('kd', 'DistillationLoss', temperature=2.),
        'unbiased-kd': loss('kd', 'UnbiasedDistillationLoss'),
        'bce-kd': loss('kd', 'BCEDistillationLoss'),
        'alife-kd': loss('kd', 'AlifeDistillationLoss'),
    },
    'ali': {'ali': loss('ali', 'AdaptiveLogitLoss')},
    'feature': {'feature-mse': loss('feature', 'FeatureMSELoss')},
    'pod': {'local-pod': loss('pod', 'LocalPODLoss')},
    'cube': {'pooled-cube': loss('cube', 'PooledCubeLoss')},
    'init': {
        'background': initial('background'),
        'balanced': initial('balanced'),
        'share': initial('share', share=0.05),
        'index': initial('index'),
        'zero': initial('zero'),
    },
    'consolidation': {
        name: consolidation(name)
        for name in ('ewc', 'ewc_online', 'mas', 'si')
    },
    'replay': {
        'feature-replay': hook(
            'FeatureReplayHook', 'every', memory_size=8, min_region=0.,
            rotation=dict(epochs=1)),
    },
    'data': {'all-data': dict(every=dict(
        train_dataloader=dict(dataset=dict(cumulative=True))))},
    'self_paced': {
        'spwc': dict(rule='spwc', k=3),
        'spwc-background': dict(rule='linear', mu=1., background='keep'),
        'spwc-distillation': dict(rule='spwc', k=3, on='distillation'),
        'spwc-anew': dict(rule='linear', mu=1., update=dict(epochs=1)),
    },
}
VALUES = {
    name: (slot, fragment)
    for slot, values in OPTIONS.items() for name, fragment in values.items()
}
# units of spWC are classes only where it weights pixels, not penalties
REFUSED = {
    frozenset(pair) for pair in itertools.product(
        ['spwc-background', 'spwc-distillation'], OPTIONS['consolidation'])
}
QUICK = [
    ('rc-merged', 'norms-of-every-step'), ('rc-carry', 'ewc'),
    ('pre-activation', 'local-pod'), ('entropy', 'spwc'),
    ('norms-of-later-steps', 'feature-replay'), ('pooled-cube', 'balanced'),
    ('rc-folded', 'channels-last'), ('bfloat16-teacher', 'unbiased-kd'),
]


def pairs():
    for one, other in itertools.combinations(VALUES, 2):
        if VALUES[one][0] == VALUES[other][0] \
                or frozenset([one, other]) in REFUSED:
            continue
        marks = () if (one, other) in QUICK else pytest.mark.slow
        yield pytest.param((one, other), marks=marks, id=f'{one}+{other}')


def build(tiny_config, names):
    cfg = tiny_config(**{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1,
        'schedule.later.train_cfg.max_epochs': 1,
        'total_batch_size': 16,
        # half a second a step, which goes into collecting garbage
        'train_dataloader.dataset.serialize_data': False,
        'test_dataloader.dataset.serialize_data': False,
    })
    for name in names:
        slot, fragment = VALUES[name]
        key = slot if slot == 'self_paced' else 'method'
        cfg.merge_from_dict({key: fragment})
    return cfg


@pytest.mark.parametrize('names', list(pairs()))
def test_two_options_train_two_steps(tiny_config, names):
    cfg = build(tiny_config, names)
    record = ContinualRunner(cfg).train()
    assert record.finished_steps == [0, 1]
    state = load_step(f'{cfg.work_dir}/step_01/final.pth')['state_dict']
    assert not any('.old.' in key or '.new.' in key for key in state)
    assert all(torch.isfinite(v).all() for v in state.values())
    for slot in (VALUES[name][0] for name in names):
        check_trace(record.steps[1], slot)


def check_trace(entry, slot):
    """An option that was dropped on the way must not pass for one that ran.
    """
    names = [n.removeprefix('loss_') for n in entry['curves']['losses']]
    if slot == 'cube':
        assert {'skd', 'ckd'} <= set(names)
    elif slot in ('kd', 'ali', 'feature', 'pod'):
        assert slot in names
    elif slot in ('consolidation', 'self_paced'):
        kept = entry['priority' if slot == 'self_paced' else slot]
        assert kept is not None


def test_every_quick_pair_is_a_pair():
    assert set(QUICK) <= {param.values[0] for param in pairs()}
