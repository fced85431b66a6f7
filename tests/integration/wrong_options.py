"""Options at their extremes, each of which no run can use.

Each of them once ended in a traceback, in words of another library, or was
taken in silence.
"""
from digit_runs import CONFIGS, LEAVES
from wrong_commands import DIGITS, tool
from wrong_inputs import DEMO, Row

MIB = DEMO.with_name('mib_shapes-6-1.py')
MNIST = CONFIGS / 'finetune' / 'finetune_mlp_permuted-mnist.py'
RCIL = DEMO.with_name('rcil_shapes-6-1.py')


def option(text, *says, leaf=DEMO):
    """A row: an option that no run can use."""
    words = text.split()
    return Row(text, tool('train', leaf, '--cfg-options', *words), *says)


def options(leaf, before, *rows):
    """Rows of options that begin alike."""
    return [option(before + text, says, leaf=leaf) for text, says in rows]


OPTIONS = [
    option('backbone_weights=3', 'backbone_weights is 3: give a path'),
    option('start_from=True', 'start_from is True: give a path'),
    option('data_root=1.5', 'data_root is 1.5: give a path'),
    option('cache_dir=7', 'cache_dir is 7: give a path'),
    option('scenario=None', "no 'scenario'; a run needs"),
    option('scenario.name=[]', r'name is \[\]: give a name'),
    option('scenario.dataset=[]', r'dataset is \[\]: give a name'),
    option('scenario.steps=3', 'steps is 3: give a list of steps'),
    option('scenario.test_ratio=many', "test_ratio is 'many': give a number"),
    option('scenario.partial=maybe', "partial is 'maybe': give True or"),
    option('scenario.noise=loud', "noise is 'loud': give a number",
           leaf=DIGITS),
    option('scenario.seed=-1', 'seed is -1: give 0 or more', leaf=DIGITS),
    option('scenario.name=1000000000', 'number of tasks, at most 10000',
           leaf=DIGITS),
    option('scenario.num_classes=1000000000',
           'num_classes is 1000000000: give a number from 2 to',
           leaf=DIGITS),
    option('method.name=3', 'no name: set .* to a text, not 3'),
    option('method.run=[]', r'method.run is \[\]: it can be'),
    option('method.restart=often', "restart is 'often': give True or False"),
    option('schedule=3', 'schedule is 3: give a dict'),
    option('train_cfg.max_epochs=long', "max_epochs is 'long': give a whole"),
    option('test_dataloader.batch_size=-1', 'batch_size is -1: give a whole'),
    option('train_dataloader.num_workers=-1', 'num_workers is -1: give a'),
    option('test_dataloader.num_workers=some', "num_workers is 'some': give"),
    option('method.later.model.pseudo_label.confidence=2',
           'pseudo_label.confidence is 2: give a number from 0 to 1'),
    option('heldout.seed=lucky', "heldout.seed is 'lucky': give a whole"),
    *options(
        LEAVES['ewc-spwc'], 'self_paced.',
        ('rule=[]', r'self_paced.rule is \[\]: give a text'),
        ('name=3', 'self_paced.name is 3: give a text'),
        ('update.epochs=0', r"self_paced.update is 'step', dict.epochs=N"),
        ('protect_last=abc', "protect_last is 'abc': give True or False"),
        ('relative=2', 'self_paced.relative is 2: give True or False'),
        ('min_weight=low', "self_paced.min_weight is 'low': give a number"),
        ('eps=1.5', 'eps must lie between 0 and 1, got 1.5'),
        ('eps=None', 'self_paced.eps is None: give a number'),
        ('eta_scale=[]', r'self_paced.eta_scale is \[\]: give a number'),
        ('control=inf', "'shuffle' or a finite weight of at least 0"),
        ('age=3', 'self_paced.age is 3: give a dict'),
        ('age.type=[]', r'age policy type must be one of .*got \[\]'),
        ('age.f=half', "self_paced.age.f is 'half': give a number"),
        ('age.f=nan', 'self_paced.age.f is nan: give a number')),
    *options(
        LEAVES['ewc'], 'self_paced.',
        ('mu=wide', "self_paced.mu is 'wide': give a number"),
        ('mu=nan', 'self_paced.mu is nan: give a number')),
    *options(
        LEAVES['ewc'], 'self_paced.age.type=',
        ('threshold self_paced.age.psi_star=97',
         'psi_star must lie in .0, 1., got 97: divide a percentage'),
        ('threshold self_paced.age.psi_star=[]',
         r'self_paced.age.psi_star is \[\]: give a number'),
        ('schedule self_paced.age.start=nan self_paced.age.factor=2',
         'self_paced.age.start is nan: give a number'),
        ('mean self_paced.age.scale=None', 'scale is None: give a number')),
    *options(
        LEAVES['ewc'], 'method.every.hooks.consolidation.',
        ('half=maybe', "ConsolidationHook.half is 'maybe': give True or F"),
        ('form=3', 'ConsolidationHook.form is 3: give a text or a dict'),
        ('update=None', 'ConsolidationHook.update is None: give a text'),
        ('importance=True', 'importance is True: give a text or a dict'),
        ('importance.labels=[]', r'FisherImportance.labels is \[\]: give a'),
        ('n_samples=0', 'n_samples is 0: give a whole number above 0'),
        ('n_samples=all', "n_samples is 'all': give a whole number"),
        ('exclude=head.', "exclude is 'head.': give a list"),
        ('exclude=3', 'exclude is 3: give a list'),
        ('store=7', 'ConsolidationHook.store is 7: give a text'),
        ('strength=True', 'ConsolidationHook.strength is True: give a num')),
    option('method.every.hooks.consolidation.form.decay=slow',
           "OnlineForm.decay is 'slow': give a number",
           leaf=LEAVES['online-ewc']),
    option('method.every.hooks.consolidation.importance.xi=tiny',
           "SIImportance.xi is 'tiny': give a number", leaf=LEAVES['si']),
    *options(
        LEAVES['blip'], 'method.every.hooks.bits.',
        ('prior=0', 'prior must be positive, got 0'),
        ('max_bits=0', 'max_bits is 0: give a whole number from 1 to'),
        ('max_bits=1000000000', 'give a whole number from 1 to 127'),
        ('n_samples=-1', 'n_samples is -1: give a whole number above 0')),
    *options(
        LEAVES['lwf'], 'method.later.model.losses.kd.',
        ('temperature=hot', "HeadDistillationLoss.temperature is 'hot': give"),
        ('loss_weight=nan', 'HeadDistillationLoss.loss_weight is nan: give')),
    *options(
        DIGITS, '',
        ('heldout.seed=-1', 'heldout.seed is -1: give a whole number from 0'),
        ('randomness=3', 'randomness is 3: give a dict'),
        ('randomness.seed=1000000000000', 'seed is 1000000000000: give a wh'),
        ('train_dataloader.dataset.augment=flip',
         "ContinualClsDataset.augment is 'flip': give a list"),
        ('model.backbone.hidden=400', 'MLPBackbone.hidden is 400: give a li'),
        ('model.head.in_channels=-1', 'network cannot be built .*: correct'),
        ('model.head.in_channels=1000000000', 'cannot be built .*: correct'),
        ('model.freeze_old_heads=some', "freeze_old_heads is 'some': give T")),
    *options(
        MNIST, 'train_dataloader.dataset.',
        ('limit=0', 'limit is 0: give a whole number above 0, or None'),
        ('limit=few', "IdxImages.limit is 'few': give a whole number")),
    *options(
        DIGITS, 'optim_wrapper.',
        ('optimizer=SGD', "optim_wrapper.optimizer is 'SGD': give a dict"),
        ('optimizer.lr=nan', 'optimizer.lr is nan: give a number, 0 or more'),
        ('optimizer.lr=inf', 'optimizer.lr is inf: give a number, 0 or more'),
        ('optimizer.lr=-1', 'optimizer.lr is -1: give a number, 0 or more'),
        ('optimizer.lr=big', "optimizer.lr is 'big': give a number, 0 or m"),
        ('optimizer.momentum=None', 'momentum is None: give a share from'),
        ('optimizer.momentum=1.5', 'momentum is 1.5: give a share from 0'),
        ('optimizer.weight_decay=nan', 'weight_decay is nan: give a number'),
        ('type=Wrapper', "no optimiser wrapper 'Wrapper': use the name of"),
        ('clip_grad=5', r'clip_grad is 5: give a dict'),
        ('clip_grad.max_norm=0', 'max_norm is 0: give a number above 0'),
        ('clip_grad.max_norm=tight', "max_norm is 'tight': give a number"),
        ('accumulative_counts=0', 'accumulative_counts is 0: give a whole')),
    *options(
        DIGITS, 'train_cfg.',
        ('val_interval=0', 'train_cfg.val_interval is 0: give a whole'),
        ('val_interval=often', "val_interval is 'often': give a whole"),
        ('val_begin=-1', 'train_cfg.val_begin is -1: give a whole'),
        ('max_epoch=1', "Unknown key 'max_epoch' in train_cfg: did you mean "
         "'max_epochs'"),
        ('type=Loop', "no training loop 'Loop'"),
        ('type=3', 'no training loop 3')),
    *options(
        DIGITS, '',
        ('default_hooks.checkpoint=often', "checkpoint is 'often': give a d"),
        ('default_hooks.checkpoint.interval=often',
         "checkpoint.interval is 'often': give a whole number"),
        ('default_hooks.checkpoint.max_keep_ckpts=None',
         'max_keep_ckpts is None: give a whole number'),
        ('log_processor.window_size=wide', "window_size is 'wide': give a"),
        ('log_level=loud', "log_level is 'loud': give one of"),
        ('visualizer=3', 'visualizer is 3: give a dict'),
        ('default_scope=3', 'default_scope is 3: give a text'),
        ('runner_type=3', 'runner_type is 3: give a text'),
        ('runner_type=Racer', "not a config of a sequence: .* runner_type='m"),
        ('env_cfg=fast', "env_cfg is 'fast': give a dict"),
        ('param_scheduler=poly', "param_scheduler is 'poly': give a list of"),
        ('custom_hooks=EMAHook', "custom_hooks is 'EMAHook': give a list of"),
        ('test_evaluator=3', 'test_evaluator is 3: give a list of'),
        ('default_hooks.logger.interval=0', 'logger.interval is 0: give a'),
        ('train_dataloader.num_worker=0',
         "'num_worker' in train_dataloader: did you mean 'num_workers'"),
        ('test_dataloader.bach_size=9',
         "'bach_size' in test_dataloader: did you mean 'batch_size'"),
        ('optim_wraper.optimizer.lr=1',
         "key 'optim_wraper'; did you mean 'optim_wrapper'"),
        ('param_schedular=[]', "did you mean 'param_scheduler'"),
        ('train_dataloader.drop_last=0', 'drop_last is 0: give True or F'),
        ('train_dataloader.prefetch_factor=0', 'prefetch_factor is 0: give'),
        ('train_dataloader.num_workers=1000000000',
         'num_workers is 1000000000: .*at most')),
    *options(
        DEMO, '',
        ('crop_size=1000000000', 'crop_size is 1000000000, .*give fewer'),
        ('crop_size=None', 'crop_size is missing: give the side'),
        ('randomness.seed=lucky', "seed is 'lucky': give a whole number"),
        ('model.channels_last=yes', "channels_last is 'yes': give True or"),
        ('model.teacher_dtype=16', 'teacher_dtype is 16: give a text'),
        ('model.rc=True', 'ContinualEncoderDecoder.rc is True: give a dict'),
        ('model.frozen_norm=(', r"frozen_norm is '\(': give a regular"),
        ('model.pseudo_label=3', 'pseudo_label is 3: give a dict'),
        ('model.pre_activation=7', 'pre_activation is 7: give True or Fals'),
        ('method.later.model=3', 'model is 3: give a dict'),
        ('method.later.model.losses=None', 'losses is None: give a dict'),
        ('method.later.optim_wrapper=None', 'optim_wrapper is None: give a'),
        ('method.later.hooks=3', 'hooks is 3: give a dict'),
        ('method.later.hooks.transition=zero', "transition is 'zero': give"),
        ('method.later.hooks.transition.classifier_init=[]',
         r'classifier_init is \[\]: give a text'),
        ('schedule.later.optim_wrapper.optimizer.lr=nan', 'lr is nan: give')),
    option('method.later.hooks.transition.classifier_init=share '
           'method.later.hooks.transition.share=much',
           "StepTransitionHook.share is 'much': give a number"),
    *options(
        MIB, 'method.later.model.losses.',
        ('pixel.new_offset=much', "new_offset is 'much': give a number"),
        ('pixel.new_offset=nan', 'new_offset is nan: give a number'),
        ('kd=10', 'model.losses.kd is 10: give a dict')),
    *options(
        RCIL, 'method.later.model.',
        ('rc.folded=maybe', "rc.folded is 'maybe': give True or False"),
        ('rc.frozen=3', 'rc.frozen is 3: give True or False'),
        ('rc.match=3', 'rc.match is 3: give a text'),
        ('rc.match=*', r"rc.match is '\*': give a regular"),
        ('losses.cube.factor=None', 'PooledCubeLoss.factor is None: give')),
]
