"""Draw where a run's network looks, for its easiest and hardest unit.

    python tools/analysis_tools/grad_cam.py work_dirs/RUN -o grad_cam

The unit, a class of a segmentation or a task of a classification, is chosen
by the held-out score after the last step. Needs `pip install grad-cam`.
"""
import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from mmengine.dataset import pseudo_collate
from torch import Tensor, nn
from torch.utils.data import Dataset

from mmseg_spwc.apis.inference import is_classifier
from mmseg_spwc.apis.step_model import StepModel, load_run
from mmseg_spwc.cli import add_trust
from mmseg_spwc.errors import ConfigError, RecordError, tool_errors
from mmseg_spwc.record import Record
from mmseg_spwc.visualization.figures import save
from mmseg_spwc.visualization.figures.style import panels, styled
from mmseg_spwc.visualization.runs import Run, load_runs


class Unit(NamedTuple):
    """A class of a segmentation, or a task of a classification."""
    index: int
    name: str
    psi: float


class CamRow(NamedTuple):
    """Images (H, W, 3) and maps (H, W) of one unit."""
    title: str
    cells: list[tuple[np.ndarray, np.ndarray]]


def easiest_and_hardest(record: Record) -> list[Unit]:
    """Return the units of the highest and the lowest held-out score.

    They are classes without background, or tasks, after the last step.
    """
    entry = record.steps[-1]
    kpi = entry.get('kpi')
    if not kpi:
        raise RecordError('The run has no held-out scores, so nothing is '
                          'easy or hard: train with heldout.ratio above 0.')
    if record.problem == 'classification':
        units = [Unit(t, f'step {t}', psi)
                 for t, psi in enumerate(kpi['step']) if psi is not None]
    else:
        units = [
            Unit(i, name, psi)
            for i, (name, psi) in enumerate(
                zip(entry['classes'], kpi['class'], strict=True))
            if psi is not None and entry['class_ids'][i] != 0
        ]
    return [max(units, key=lambda u: u.psi), min(units, key=lambda u: u.psi)]


def cam_rows(run: Run, count: int, layer: str | None = None) -> list[CamRow]:
    """Compute the maps of some test images of both units.

    ``layer`` names the module whose maps are weighted, by default the last
    stage of the backbone.
    """
    if not run.record.steps:
        raise RecordError(f'{run.folder} has no finished step.')
    units = easiest_and_hardest(run.record)
    loaded, dataset = load_run(run)
    module = find_layer(loaded.model, layer)
    rows = []
    for title, unit in zip(('easy', 'hard'), units, strict=True):
        cells = [_cell(loaded, module, dataset[place], unit)
                 for place in samples_of(loaded, dataset, unit)[:count]]
        rows.append(CamRow(
            f'{title}: {unit.name}, held-out score '
            f'{100 * unit.psi:.0f} %', cells))
    return rows


def find_layer(model: nn.Module, name: str | None) -> nn.Module:
    """Return a module by name, or the last stage of the backbone."""
    if name is not None:
        try:
            return model.get_submodule(name)
        except AttributeError as error:
            raise ConfigError(f'The network has no layer {name!r}.') from error
    stages = [
        child for child in model.backbone.children()
        if any(isinstance(m, nn.Conv2d) for m in child.modules())
        and not isinstance(child, nn.ModuleList)
    ]
    if not stages and not any(
            isinstance(m, nn.Conv2d) for m in model.modules()):
        raise ConfigError('Grad-CAM needs maps, and this network has no '
                          'convolutions: draw a run of another network.')
    if not stages:
        raise ConfigError('The backbone has no stage of convolutions; name a '
                          'layer that gives maps with --layer.')
    return stages[-1]


def samples_of(loaded: StepModel, dataset: Dataset, unit: Unit) -> list[int]:
    """Return the places of the test samples that show a unit."""
    if is_classifier(loaded):
        return torch.nonzero(dataset.tasks == unit.index).flatten().tolist()
    seen = dataset.scenario.seen_classes(loaded.step)
    return [i for i in range(len(dataset))
            if seen[unit.index] in dataset.classes_of(i)]


def activation(network: nn.Module, layer: nn.Module, inputs: Tensor,
               score: Callable[[Tensor], Tensor]) -> np.ndarray:
    """Grad-CAM of one image, (H, W), from 0 to 1.

    ``inputs`` are (1, C, H, W); ``score`` turns the logits of the image into
    the number that is explained.
    """
    try:
        from pytorch_grad_cam import GradCAM
    except ImportError as error:
        raise ConfigError('Grad-CAM needs a package that is not installed: '
                          'pip install grad-cam') from error
    with GradCAM(network, [layer]) as cam:
        return cam(inputs, [score])[0]


class _Logits(nn.Module):
    """All logits of a segmentor, or of all heads of a classifier."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        if hasattr(self.model, 'classifier'):
            return self.model.classifier(self.model.pre_logits(inputs))
        return self.model(inputs, mode='tensor')


def _cell(loaded: StepModel, layer: nn.Module, sample: dict,
          unit: Unit) -> tuple[np.ndarray, np.ndarray]:
    data = loaded.model.data_preprocessor(pseudo_collate([sample]), False)
    if is_classifier(loaded):
        label = int(sample['data_samples'].gt_label)

        def score(logits: Tensor) -> Tensor:  # (C, )
            return logits[label]
    else:
        truth = sample['data_samples'].gt_sem_seg.data.float()[None]

        def score(logits: Tensor) -> Tensor:  # (C, h, w)
            small = nn.functional.interpolate(truth, logits.shape[1:])
            where = (small[0, 0] == unit.index).to(logits)
            # an object smaller than a cell of the map still counts
            where = where if where.any() else torch.ones_like(where)
            return (logits[unit.index] * where).sum()

    cam = activation(_Logits(loaded.model), layer, data['inputs'], score)
    image = loaded.displayed(sample['inputs'])
    return image, cam[:image.shape[0], :image.shape[1]]


@styled
def draw_cams(rows: list[CamRow]) -> Figure:
    """Draw every image, and beside it the map over the image."""
    columns = 2 * max(len(row.cells) for row in rows)
    figure, axes = panels(columns, len(rows), width=1.1, height=1.25)
    for panel in axes:
        panel.set_axis_off()
    for r, row in enumerate(rows):
        first = r * columns
        axes[first].set_title(row.title, loc='left')
        for i, (image, cam) in enumerate(row.cells):
            axes[first + 2 * i].imshow(image)
            axes[first + 2 * i + 1].imshow(image)
            axes[first + 2 * i + 1].imshow(
                cam, cmap='inferno', alpha=.55, vmin=0, vmax=1)
    return figure


def main() -> int:
    parser = argparse.ArgumentParser(description='Draw Grad-CAM')
    parser.add_argument('run', help='work_dir or record.json')
    parser.add_argument(
        '-o', '--out', default='grad_cam', help='files, without suffix')
    parser.add_argument(
        '--images', type=int, default=3, metavar='N', help='images a unit')
    parser.add_argument(
        '--layer', help='module to look at (default: the last stage)')
    add_trust(parser)
    args = parser.parse_args()
    with tool_errors():
        (run, ), _ = load_runs([args.run], args.trust)
        rows = cam_rows(run, args.images, args.layer)
        for path in save(draw_cams(rows), args.out):
            print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main())
