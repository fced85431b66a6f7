"""Configs and scenarios that are wrong."""
from torch import nn
from wrong_inputs import Row, digits_edited, digits_with, method_with, train

from mmseg_spwc.models.losses import DistillationLoss
from mmseg_spwc.registry import MODELS

SPWC = 'ewc-spwc'
NO_PENALTY = dict(self_paced=dict(rule='spwc', k=1))
HOOK = 'method.every.hooks.consolidation'


class AsksForTheMoon(nn.Module):

    def forward(self, logits, moon):
        return logits.sum() + moon


def spwc(**options):
    return method_with(SPWC, **{f'self_paced.{k}': v
                                for k, v in options.items()})


def aged(**age):
    return method_with(SPWC, self_paced=dict(_delete_=True, **age))


def consolidation(**options):
    return method_with('ewc', **{f'{HOOK}.{k}': v
                                 for k, v in options.items()})


def later(**change):
    return digits_with(**{'method.later': change})


def loss_of_the_moon(case):
    if 'AsksForTheMoon' not in MODELS:
        MODELS.register_module(module=AsksForTheMoon)
    train(case.digits(**{'model.losses': dict(
        moon=dict(type='mmseg_spwc.AsksForTheMoon'))}))


def distil_at_once(case):
    train(case.digits(**{'model.losses': dict(
        kd=dict(type=f'mmseg_spwc.{DistillationLoss.__name__}'))}))


def three_processes(case):
    from mmseg_spwc.config import preflight
    case.patch.setattr(preflight, 'get_world_size', lambda: 3)
    train(case.digits(total_batch_size=64))


def removed(key):
    return digits_edited(lambda cfg: cfg.pop(key))


def replaced(key, value):
    return digits_edited(lambda cfg: cfg.__setitem__(key, value))


def start(**options):
    """How new channels, or branches, of RCIL's later steps begin."""
    branches = dict(rc=dict(match='conv2$', init=options.pop('rc', 'merged')))
    return lambda case: train(case.segment(**{
        'method.later': dict(model=branches,
                             hooks=dict(transition=options))}))


def head_of(kind, in_channels=64, in_index=3, **options):
    """A network of mmseg that classifies pixels in its own way."""
    return lambda case: train(case.segment(**{'model.decode_head': dict(
        _delete_=True, type=kind, in_channels=in_channels, channels=8,
        in_index=in_index, **options)}))


def doubled(match):
    """Representation compensation of what there may not be."""
    return lambda case: train(case.segment(**{
        'method.every': dict(model=dict(rc=dict(match=match)))}))


CONFIGS = [Row(*row) for row in (
    ('head with several maps', head_of('DAHead', pam_channels=4),
     'of every step, from step 0: DAHead trains more than one map, '
     'by losses of its own .*such as DeepLabV3CSSHead'),
    ('head with a loss of its own', head_of(
        'EncHead', in_channels=[64], in_index=[3], num_codes=4),
     'every step, from step 0: EncHead trains more than one map'),
    ('assertion without words', head_of('EncHead', num_codes=4),
     r'from step 0: assert isinstance\(in_channels, \(list, tuple\)\)'),
    ('rc of no convolution', doubled('conv7'),
     r"from step 0: no convolution with a batch norm matches 'conv7': "
     'let rc.match fit some of .*backbone.conv1, '),
    ('typo in a loss', lambda case: train(case.segment(**{
        'method.later': dict(model=dict(losses=dict(
            kd=dict(type='mmseg_spwc.DistillationLoss'),
            kdd=dict(loss_weight=2.))))})),
     "config of step 1: The loss 'kdd' has no type: did you mean 'kd'.*"
     'losses here are pixel, kd; a further one needs a type'),
    ('mistake of every step', digits_with(**{'model.losses': dict(
        cls=dict(type='mmseg_spwc.TaskCrossEntropy'))}),
     'every step, from step 0: '),
    ('unknown start of new channels', start(classifier_init='balansed'),
     "config of step .*Unknown initialisation policy 'balansed': choose"),
    ('unknown start of a classifier', later(
        hooks=dict(transition=dict(classifier_init='background'))),
     "step 1.*Unknown initialisation policy 'background'"),
    ('share without its policy', start(share=0.1),
     "The policy 'share', and no other, needs the share"),
    ('share of everything', start(classifier_init='share', share=1.),
     'share must lie between 0 and 1, got 1.0'),
    ('unknown start of branches', start(rc='carried'),
     "rc.init must be 'merged', 'carry' or 'independent', got 'carried'"),
    ('memory of negative size', digits_with(keep_decoded=-1),
     'keep_decoded is -1: give gigabytes'),
    ('memory of no number', digits_with(keep_decoded='2GB'),
     "keep_decoded is '2GB': give gigabytes"),
    ('more memory than there is', digits_with(keep_decoded=1e6),
     'and this machine has .* GB of memory: give fewer'),
    ('memory for what is in memory', digits_with(keep_decoded=1),
     'keep_decoded is for segmentation: .* use mmseg_spwc.InMemoryImages'),
    ('typo in total_batch_size', digits_with(total_batchsize=8),
     "Unknown config key.*did you mean 'total_batch_size'"),
    ('typo in self_paced', digits_with(self_pased={}),
     "did you mean 'self_paced'"),
    ('typo in a required key', digits_edited(
        lambda c: c.__setitem__('modle', c.pop('model'))),
     "no 'model' .is 'modle' a typo"),
    ('typo in method', digits_with(**{'method.late': {}}),
     "Unknown key 'late' in method: did you mean 'later'"),
    ('typo in schedule', digits_with(**{'schedule.frist': {}}),
     "Unknown key 'frist' in schedule: did you mean 'first'"),
    ('typo in heldout', digits_with(**{'heldout.ration': 0.1}),
     "Unknown key 'ration' in heldout: did you mean 'ratio'"),
    ('unknown key in heldout', digits_with(**{'heldout.share': 0.2}),
     "Unknown key 'share' in heldout"),
    ('typo in an spWC option', spwc(protect_lst=True),
     "Unknown key 'protect_lst' in self_paced: did you mean 'protect_last'"),
    ('method without a name', digits_with(**{'method.name': ''}),
     'no name: set method='),
    ('method is not a dict', replaced('method', 'ewc'),
     'method is .ewc.: give'),
    ('stage is not a dict', replaced('schedule', dict(later=3)),
     'schedule.later is 3: give a dict'),
    ('no scenario', removed('scenario'), "no 'scenario'; a run needs"),
    ('no model', removed('model'), "no 'model'"),
    ('no data', removed('train_dataloader'), "no 'train_dataloader'"),
    ('model of the other kind', digits_with(**{
        'model.type': 'EncoderDecoder'}),
     'model is of type EncoderDecoder; a sequence can be trained with '
     'mmpretrain configs of type ImageClassifier'),
    ('model without a type', digits_edited(lambda c: c.model.pop('type')),
     "the key 'type' is missing"),
    ('unknown backbone', digits_with(**{'model.backbone.type': 'MLPP'}),
     'config.*MLPP is not in the'),
    ('unknown option of the backbone', digits_with(**{
        'model.backbone.hiden': 3}), "config.*'hiden'"),
    ('unknown rule', spwc(rule='spvc'), "rule must be one of.*'spvc'"),
    ('unknown form', spwc(form='joined'), "form must be one of.*'joined'"),
    ('unknown age', aged(age=dict(type='topp', k=1)),
     "age policy type must be one of.*'topp'"),
    ('age without its number', aged(age=dict(type='topk')), "'k'"),
    ('share above one', aged(age=dict(type='fraction', f=1.5)),
     r'f must lie in \[0, 1\], got 1.5'),
    ('k besides mu', spwc(mu=1.), 'exactly one of.*mu'),
    ('smallest weight above one', spwc(min_weight=2), 'min_weight'),
    ('k is not a number of units', aged(k=1.5),
     'self_paced.k is 1.5: give a whole number'),
    ('k and mu', aged(k=1, mu=2.), 'exactly one of.*got .*mu.*k'),
    ('neither k nor mu', aged(rule='spwc'), r'exactly one of.*got \[\]'),
    ('unknown normalisation', spwc(normalise='mean'),
     "normalise must be one of.*'mean'"),
    ('unknown unit', spwc(unit='task'),
     "unit is 'class' or 'step', not 'task'"),
    ('unit that a penalty cannot weight', spwc(unit='class'),
     "unit='step'"),
    ('unknown update', spwc(update='epoch'), "update is 'step', dict"),
    ('update is a number', spwc(update=3),
     'self_paced.update is 3: give a text or a dict'),
    ('background where there is none', spwc(background='keep'),
     'needs .*a scenario with a background'),
    ('spWC without held-out images', method_with(SPWC, **{
        'heldout.ratio': 0}),
     'self_paced needs.*held-out slice: set heldout.ratio above 0'),
    ('spWC without a held-out slice', method_with(SPWC, heldout=None),
     'self_paced needs.*held-out slice: set heldout.ratio'),
    ('spWC without a penalty', method_with('finetune', **NO_PENALTY),
     'the method has none: choose'),
    ('spWC with distillation alone', method_with('lwf', **NO_PENALTY),
     'the method has none: choose'),
    ('spWC with bits', method_with('blip', **NO_PENALTY),
     'the method has none: choose'),
    ('held-out share of 1.5', digits_with(**{'heldout.ratio': 1.5}),
     'heldout.ratio is 1.5: give a share'),
    ('held-out share in words', digits_with(**{'heldout.ratio': '0.1'}),
     "heldout.ratio is '0.1': give a share"),
    ('negative strength', consolidation(strength=-1.),
     'strength must be finite and not negative, got -1'),
    ('strength in words', consolidation(strength='big'),
     "ConsolidationHook.strength is 'big': give a number"),
    ('unknown penalty form', consolidation(form='tasks'),
     "form is one of last, online, per_step, not 'tasks'"),
    ('wrong place of the decay', consolidation(decay=.5), "'decay'"),
    ('unknown penalty update', consolidation(update='newton'),
     "update is one of .*, not 'newton'"),
    ('unknown importance', consolidation(importance=dict(type='fischer')),
     "one of .*FisherImportance, .*, not 'fischer'"),
    ('unknown labels of the Fisher information', consolidation(
        importance=dict(labels='all')),
     "one of sample, exact, empirical, max, not 'all'"),
    ('unknown optimiser', digits_with(**{
        'optim_wrapper.optimizer.type': 'SGDD'}), "no optimiser 'SGDD': use"),
    ('unknown option of the optimiser', digits_with(**{
        'optim_wrapper.optimizer.learning_rate': 1}), "'learning_rate'"),
    ('unknown scheduler', digits_with(param_scheduler=[
        dict(type='PolyLRR')]), "no scheduler 'PolyLRR': use"),
    ('batch of zero', digits_with(total_batch_size=0),
     'total_batch_size is 0: give a whole number'),
    ('batch of a half', digits_with(total_batch_size=64.5),
     'total_batch_size is 64.5: give'),
    ('batch that three processes cannot share', three_processes,
     'total_batch_size=64 cannot be split over 3 processes: use'),
    ('batch larger than a step', digits_with(total_batch_size=64000),
     'fewer than the total batch of 64000: use a smaller'),
    ('no epochs', digits_with(**{'train_cfg.max_epochs': 0}),
     'max_epochs is 0: give a whole number'),
    ('least iterations below zero', digits_with(**{
        'train_cfg.min_iters': -5}), 'min_iters is -5: give a whole number'),
    ('least iterations of a fixed number', digits_with(train_cfg=dict(
        _delete_=True, type='IterBasedTrainLoop', max_iters=5, min_iters=9)),
     'min_iters goes with max_epochs: .*Leave it out'),
    ('unknown hook', digits_with(custom_hooks=[dict(type='EMAHok')]),
     'step 0: EMAHok is not in the.*check'),
    ('unknown hook of later steps', later(hooks=dict(x=dict(type='Nope'))),
     'step 1: Nope is not in the'),
    ('unknown loss of later steps', later(
        model=dict(losses=dict(kd=dict(type='KDLos')))),
     'step 1: KDLos is not in the'),
    ('loss that asks for the unknown', loss_of_the_moon,
     "asks for 'moon', which a .* does not provide; known"),
    ('distillation at step 0', distil_at_once,
     "'kd' compares with the previous model.*move it to method.later"),
    ('unknown part of a step to run', digits_with(**{'method.run': 'lst'}),
     "method.run is 'lst': it can be 'first' or 'last'"),
    ('seed in words', digits_with(**{'randomness.seed': 'x'}),
     "seed is 'x': give a whole number"),
)]
