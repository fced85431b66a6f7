"""Types that a step's config gets in place of those that it names."""
# parts of MMEngine that ours replace, with the same options: they can be
# interrupted anywhere, and draw the same numbers however they are run
OURS = dict(
    CheckpointHook='mmseg_spwc.SafeCheckpointHook',
    EpochBasedTrainLoop='mmseg_spwc.ResumableEpochLoop',
    DefaultSampler='mmseg_spwc.SeededSampler',
    InfiniteSampler='mmseg_spwc.SeededInfiniteSampler')
# mixed-precision form of the optimiser wrapper, by device
AMP_FORMS = dict(cuda='AmpOptimWrapper', cpu='mmseg_spwc.CpuAmpOptimWrapper')
# default hooks that every step gets
GUARDS = dict(
    finite_guard='mmseg_spwc.FiniteGuardHook',
    collapse_monitor='mmseg_spwc.CollapseMonitorHook',
    preemption='mmseg_spwc.PreemptionHook')
# models: see mmseg_spwc.problems; trackers: see mmseg_spwc.trackers.ONE_RUN

LOG_PROCESSOR = 'mmseg_spwc.SequenceLogProcessor'
SELF_PACED = 'mmseg_spwc.SelfPacedHook'
SHARDED = 'mmseg_spwc.ShardedModel'
TRANSITION = 'mmseg_spwc.StepTransitionHook'


def ours(kind: object) -> object:
    """Return what stands for a type, or the type itself."""
    return OURS.get(kind, kind) if isinstance(kind, str) else kind
