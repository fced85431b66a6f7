"""Collectives of a run on eight ranks: the same on each, none alone.

Torch's fake process group takes every call and does nothing. Each rank trains
the same run in turn; objects that rank 0 sends are kept for the others.
"""
import copy
import sys

import pytest
import torch
from mmengine.dist import dist as origin
from mmengine.model import MMDistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore

from mmseg_spwc.engine import ContinualRunner

WORLD = 8
LEAVES = {
    'rcil-spwc': 'configs/demo/rcil-spwc_shapes-6-1.py',
    'plop': 'configs/plop/plop_r18_shapes.py',
    'ewc-spwc': 'configs/spwc/ewc-spwc_r18_shapes.py',
    'alife-m': 'configs/alife/alife-m_r18_shapes.py',
}
NAMES = ('all_reduce', 'broadcast', 'all_gather', 'all_gather_object',
         'broadcast_object_list', 'collect_results', 'barrier', 'gather',
         'gather_object', 'all_reduce_params', 'sync_random_seed')


class Calls:
    """What a rank asks of the others, in order."""

    def __init__(self, sent: list, rank: int) -> None:
        self.made, self.sent, self.rank = [], sent, rank
        self._told = iter(sent)

    def stand_in(self, name):
        return getattr(self, name, lambda *args, **_: self.note(name, *args))

    def note(self, name, *args):
        self.made.append((name, *(
            (tuple(a.shape), a.dtype) for a in args[:1]
            if isinstance(a, torch.Tensor))))

    def all_gather_object(self, value, *_):
        self.note('all_gather_object')
        return [value] * WORLD

    def broadcast_object_list(self, data, *_, **__):
        self.note('broadcast_object_list')
        if self.rank == 0:
            self.sent.append(copy.deepcopy(data))
        else:
            data[:] = next(self._told)

    def collect_results(self, results, size, *_, **__):
        self.note('collect_results', results)
        return results if self.rank == 0 else None


TRAIN_STEP = MMDistributedDataParallel.train_step


def train_alone(self, *args, **kwargs):
    with self.no_sync():
        return TRAIN_STEP(self, *args, **kwargs)


def run(rank, cfg, sent, monkeypatch):
    """Train as one of eight ranks; return its calls."""
    calls = Calls(sent, rank)
    with monkeypatch.context() as patch:
        patch.setenv('LOCAL_RANK', str(rank))
        # torch's own sums of gradients need a group that answers
        patch.setattr(MMDistributedDataParallel, 'train_step', train_alone)
        for name in NAMES:
            true = getattr(origin, name)
            for module in list(sys.modules.values()):
                package = getattr(module, '__name__', '').split('.')[0]
                if package in ('mmengine', 'mmseg_spwc', 'mmseg') and \
                        vars(module).get(name) is true:
                    patch.setattr(module, name, calls.stand_in(name))
        torch.distributed.init_process_group(
            'fake', rank=rank, world_size=WORLD, store=FakeStore())
        try:
            assert origin.get_dist_info() == (rank, WORLD)
            ContinualRunner(cfg).train()
        finally:
            torch.distributed.destroy_process_group()
    return calls.made


def methods():
    for name in LEAVES:
        yield pytest.param(name, marks=() if name == 'rcil-spwc' else
                           pytest.mark.slow)


@pytest.mark.parametrize('method', methods())
def test_every_rank_makes_the_same_calls(method, tiny_config, monkeypatch,
                                         tmp_path):
    cfg = tiny_config(leaf=LEAVES[method], **{
        'scenario.steps': [[1, 2, 3, 4], [5, 6, 7, 8, 9, 10]],
        'total_batch_size': 2 * WORLD, 'launcher': 'pytorch',
        'train_cfg.max_epochs': 1, 'schedule.later.train_cfg.max_epochs': 1})
    sent, made = [], []
    for rank in (0, WORLD - 1):
        again = copy.deepcopy(cfg)
        again.experiment_name = f'{method}_{rank}'
        made.append(run(rank, again, sent, monkeypatch))
    assert len(made[0]) > 20
    assert made[0] == made[1]
