"""The training data of a step, seen once more to measure importances."""
import math
from collections.abc import Iterator, Mapping, Sequence

import torch
from mmengine.dataset import DefaultSampler
from mmengine.dist import all_reduce, broadcast, get_rank, get_world_size
from mmengine.logging import print_log
from torch import Tensor, nn
from torch.utils.data import DataLoader

from mmseg_spwc.consolidation import Importance, ImportanceSum
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.losses.base import shrink
from mmseg_spwc.terminal import track
from mmseg_spwc.utils.options import is_positive
from mmseg_spwc.utils.random_state import seeded


def trained_params(model: nn.Module,
                   exclude: Sequence[str] = ()) -> dict[str, Tensor]:
    """Parameters in training whose name contains none of some parts."""
    return {
        name: param
        for name, param in model.named_parameters()
        if param.requires_grad and not any(part in name for part in exclude)
    }


def check_samples(n_samples: int | None) -> None:
    """Refuse a limit that :func:`measure` could not use after a step."""
    if n_samples is not None and not is_positive(n_samples):
        raise ValueError(f'n_samples is {n_samples!r}: give a whole number '
                         'above 0, or None for all images.')


def measure(importance: Importance, runner, model: nn.Module,
            params: Mapping[str, Tensor], step: int,
            n_samples: int | None) -> dict[str, Tensor]:
    """Measure importances on a step's training data, the same every time.

    At most ``n_samples`` images are used. The model is unwrapped.
    """
    # the first rank's running statistics are those that are kept
    for buffer in model.buffers():
        broadcast(buffer)
    data = StepData(runner.train_dataloader, model, n_samples)
    with seeded(runner.seed or 0, step, get_rank()):
        return importance.estimate(model, params, data)


class StepData:
    """Every training image of a step once, shared out among the ranks.

    The images pass the training pipeline as in the first epoch. The order is
    shuffled with a fixed seed, so a limit on the samples, which is over all
    ranks, takes a random part of them, and the same one if the measurement is
    repeated.
    """

    def __init__(self,
                 loader: DataLoader,
                 model: nn.Module,
                 n_samples: int | None = None) -> None:
        self.model = model
        self.limit = n_samples and math.ceil(n_samples / get_world_size())
        self.loader = once_through(loader)

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Inputs and labels, the latter at the size of the logits."""
        sizes = {}  # of the logits, by shape of the inputs
        for data in self._with_progress():
            data = self.model.data_preprocessor(data, training=True)
            inputs = data['inputs']
            labels = self.model.active_labels(data['data_samples'])
            if inputs.shape not in sizes:
                with torch.no_grad():
                    outputs = self.forward(self.model, inputs[:1])
                sizes[inputs.shape] = outputs.shape[2:]
            size = sizes[inputs.shape]
            yield inputs, shrink(labels, size) if size else labels

    def forward(self, model: nn.Module, inputs: Tensor) -> Tensor:
        """Logits: (B, C) of a classifier, small (B, C, h, w) of a
        segmentor."""
        return model(inputs, mode='tensor')

    def _with_progress(self) -> Iterator[dict]:
        images = len(self.loader.sampler)
        used = min(self.limit or images, images)
        print_log(f'Measuring importances on {used} images', 'current')
        return track(self.loader, math.ceil(used / self.loader.batch_size),
                     'importances')

    def mean(self, total: ImportanceSum,
             params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Divide sums by counts, both added up over the ranks."""
        like = next(iter(params.values()))
        count = torch.tensor([total.count], device=like.device)
        all_reduce(count)
        sums = {}
        for name, param in params.items():
            sums[name] = total.sums.get(name, torch.zeros_like(param))
            all_reduce(sums[name])
        return ImportanceSum(sums, int(count)).mean()


def once_through(loader: DataLoader) -> DataLoader:
    """A loader of the same data that ends when every image was seen.

    What a step replays is not its own and left out.
    """
    # round_up would count some images twice, our own samplers drop some
    own = getattr(loader.dataset, 'new', len(loader.dataset))
    if not own:
        raise ConfigError(
            f'The images of step {loader.dataset.step} are gone, but the '
            'method measures on them what it keeps of the step: give the '
            'data of the step, or choose a method that needs none of the '
            'past (docs/methods.md).')
    sampler = DefaultSampler(
        range(own), shuffle=True, seed=0, round_up=False)
    return DataLoader(
        loader.dataset,
        batch_size=loader.batch_size,
        sampler=sampler,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        worker_init_fn=loader.worker_init_fn)
