"""The plain weights of a step: taken from elsewhere, loaded, and left."""
from mmengine.runner import Runner

from mmseg_spwc.runtime.agreement import check_agreement
from mmseg_spwc.runtime.checkpoint import (
    Stamp,
    load_step,
    load_weights,
    save_step,
)
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.distributed import from_first_rank, unwrap

from .start import Start


def load(runner: Runner, state: dict, path: str) -> None:
    """Load a step's weights into a runner's network, made plain."""
    network = unwrap(runner.model)
    network.to_plain()
    load_weights(network, state, path)


def take(runner: Runner, start: Start, step: int) -> dict | None:
    """Take a step from ``start_from`` instead of training it.

    What a method measures at the end of a step, it measures here. Returns the
    branches that the next step goes on with, if it does.
    """
    network, trained = unwrap(runner.model), start.weights_of(step)
    network.to_plain()
    trained.load(network, start.names[step])
    runner.context.entry['start_from'] = dict(
        file=trained.path, until=start.step)
    runner.call_hook('after_train')
    if network.carries and trained.branches is None:
        warn(f'start_from={trained.path} was trained without branches to go '
             f"on with (rc.init='carry'), so step {step + 1} starts merged.")
    return trained.branches if network.carries else None


def finish(runner: Runner, path: str, stamp: Stamp,
           branches: dict | None) -> None:
    """Fold the network to its plain form, write it, and read it back."""
    network = unwrap(runner.model)
    check_agreement(f'after training step {stamp.step}',
                    weights=dict(network.named_parameters()))
    network.to_plain()
    meta = dict(dataset_meta=_plain_meta(runner))  # builds on all ranks
    from_first_rank(
        lambda: save_step(path, network.state_dict(), stamp, meta, branches))
    load_weights(network, load_step(path)['state_dict'], path)


def _plain_meta(runner: Runner) -> dict:
    info = runner.test_dataloader
    info = info.dataset.metainfo if hasattr(info, 'dataset') else {}
    return {
        key: [list(v) if isinstance(v, tuple) else v for v in info[key]]
        for key in ('classes', 'palette') if info.get(key)
    }
