"""A training run that takes a moment, with all that can be interrupted."""
import itertools

import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.registry import LOOPS
from mmengine.runner import IterBasedTrainLoop, Runner
from torch import nn
from torch.utils.data import Dataset

from mmseg_spwc.runtime.resume_point import find_resume_point

NUMBERS = itertools.count()


class Points(Dataset):
    """Ten samples that depend on their index and epoch, as ours do."""

    metainfo = dict(classes=('a', 'b'))

    def __len__(self):
        return 10

    def __getitem__(self, key):
        index, epoch = key
        generator = torch.Generator().manual_seed(100 * epoch + index)
        return dict(inputs=torch.randn(4, generator=generator),
                    data_samples=dict(img_path=f'{index}.png'))


class Toy(BaseModel):
    """Two layers with dropout, whose mask tells one random state from all
    others.
    """

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(4, 8)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(8, 1)

    def forward(self, inputs, data_samples=None, mode='loss'):
        out = self.last(self.drop(self.first(torch.stack(inputs))))
        if mode != 'loss':
            return out
        return dict(loss_square=out.square().mean(),
                    loss_other=out.abs().mean(), accuracy=out.mean())


def collate(samples):
    inputs = [sample['inputs'] for sample in samples]
    return dict(inputs=inputs,
                data_samples=[s['data_samples'] for s in samples])


def toy_runner(folder, loop='epoch', hooks=(), model=None, optim_wrapper=None,
               dataset=None, length=4, workers=0, **checkpoint) -> Runner:
    """Three batches an epoch; resumes what ``folder`` holds."""
    by_epoch = loop == 'epoch'
    train_cfg = dict(
        type='mmseg_spwc.ResumableEpochLoop', max_epochs=length)
    if not by_epoch:
        train_cfg = dict(type='LazyLoop' if loop == 'lazy' else
                         'IterBasedTrainLoop', max_iters=3 * length)
    kind = 'SeededSampler' if by_epoch else 'SeededInfiniteSampler'
    point = find_resume_point(folder)
    return Runner(
        model=model or Toy(),
        work_dir=str(folder),
        train_dataloader=dict(
            dataset=dataset or Points(), batch_size=4, num_workers=workers,
            persistent_workers=workers > 0,
            sampler=dict(type=f'mmseg_spwc.{kind}', shuffle=True),
            collate_fn=collate),
        train_cfg=train_cfg,
        optim_wrapper=dict(
            optimizer=dict(type='SGD', lr=0.05, momentum=0.9),
            **(optim_wrapper or {})),
        param_scheduler=dict(type='LinearLR', by_epoch=by_epoch, end=4),
        default_hooks=dict(
            checkpoint=dict(type='mmseg_spwc.SafeCheckpointHook',
                            by_epoch=by_epoch,
                            **dict(dict(interval=2), **checkpoint)),
            preemption=dict(type='mmseg_spwc.PreemptionHook')),
        custom_hooks=list(hooks),
        randomness=dict(seed=1),
        load_from=point,
        resume=point is not None,
        experiment_name=f'toy_{next(NUMBERS)}')


class At(Hook):
    """Does something after an iteration (counted from 0)."""

    def __init__(self, iteration, action):
        self.iteration = iteration
        self.action = action

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None):
        if runner.iter == self.iteration:
            self.action(runner)


@LOOPS.register_module(force=True)
class LazyLoop(IterBasedTrainLoop):
    """Opens its data for the first batch, as newer releases of MMEngine do.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if not hasattr(self.dataloader_iterator, 'skip_iter'):
            self.dataloader_iterator = (
                batch for _ in range(1) for batch in self.dataloader)


def weights(runner):
    return torch.cat([p.detach().flatten() for p in runner.model.parameters()])
