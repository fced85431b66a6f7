"""Predictions of the network of a step for image files."""
import math
from collections.abc import Sequence
from pathlib import Path

import mmcv
import numpy as np
import torch
from matplotlib.figure import Figure
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmseg.datasets.transforms import PackSegInputs
from PIL import Image

from mmseg_spwc.datasets.batches import PixelOrders
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import build_scenario
from mmseg_spwc.visualization.figures import images
from mmseg_spwc.visualization.gallery import Gallery
from mmseg_spwc.visualization.report import StepView
from mmseg_spwc.visualization.runs import Run

from .step_model import StepModel, config_of, load_run_step

MOST_PIXELS = 2**25  # of an image to read, and of one to segment
MOST_SIDE = 2**14
SUFFIXES = ('.jpg', '.jpeg', '.png', '.bmp', '.tif', '.tiff', '.webp')
MOST_PROBABLE = 5  # classes that are shown


def read_image(path: str | Path, side: int | None = None) -> np.ndarray:
    """Read an image as BGR (H, W, 3).

    A large one is refused by its header; one longer than ``side`` is reduced.
    """
    if not Path(path).is_file():
        raise ConfigError(f'There is no image at {path}.')
    try:
        with Image.open(path) as opened:
            _check_pixels(*opened.size, path)
            image = mmcv.imread(str(path))
            if image is None:  # OpenCV does not know its format
                image = np.asarray(opened.convert('RGB'))[..., ::-1]
    except ConfigError:
        raise
    except Exception as error:  # decoders raise of every kind
        raise ConfigError(
            f'{path} cannot be read as an image ({error}).') from error
    if side is not None and max(image.shape[:2]) > side:
        image = mmcv.imrescale(image, (side, side))
    return image


def image_files(paths: Sequence[str], out: str) -> dict[Path, Path]:
    """Image files, and those of folders, by where each one's picture goes."""
    found = {}
    for path in map(Path, paths):
        inside = sorted(p for p in path.rglob('*')
                        if p.suffix.lower() in SUFFIXES)
        if path.is_dir() and not inside:
            raise ConfigError(f'{path} holds no file that ends in '
                              f'{", ".join(SUFFIXES)}.')
        for file in inside or [path]:
            name = file.relative_to(path) if inside else file.name
            picture = Path(out, name).with_suffix('.png')
            if picture.resolve() == file.resolve():
                raise ConfigError(f'{file} would be replaced by its picture: '
                                  'give another folder with -o.')
            if picture in found:
                raise ConfigError(
                    f'{found[picture]} and {file} would have one picture, '
                    f'{picture}: draw them into folders of their own.')
            found[picture] = file
    return found


def _check_pixels(width: int, height: int, what: object) -> None:
    if width * height > MOST_PIXELS or max(width, height) > MOST_SIDE:
        raise ConfigError(
            f'{what} has {width}x{height} pixels: give an image of at most '
            f'{MOST_PIXELS:,} pixels and sides of {MOST_SIDE:,}.')


def default_size(cfg: Config) -> int | None:
    """Return the side to which a config's networks want images resized.

    It is the ``crop_size`` of the training, or what the backbone is built
    for (``image_size``, or ``in_features`` of a perceptron); None where any
    size will do.
    """
    crop, backbone = cfg.get('crop_size'), cfg.model.get('backbone', {})
    if isinstance(crop, int):
        return crop
    if backbone.get('in_features'):
        mean = cfg.model.get('data_preprocessor', {}).get('mean', [0])
        return math.isqrt(backbone.in_features // len(mean))
    return backbone.get('image_size')


def is_classifier(loaded: StepModel) -> bool:
    return not hasattr(loaded.model, 'decode_head')


@torch.no_grad()
def segment_image(loaded: StepModel, image: np.ndarray,
                  size: int | None = None) -> np.ndarray:
    """The channel of every pixel of a BGR image, (H, W).

    The shorter side is resized to ``size`` before, such as that of the crops
    in training.
    """
    shape = image.shape[:2]
    if size is not None:
        scale = size / min(shape)
        resized = tuple(max(1, round(scale * n)) for n in shape[::-1])
        _check_pixels(*resized, 'The image, its shorter side resized to '
                      f'{size},')
        image = mmcv.imresize(image, resized)
    sample = PackSegInputs()(
        dict(img=image, img_shape=image.shape[:2], ori_shape=shape))
    result = loaded.model.test_step(pseudo_collate([sample]))[0]
    return result.pred_sem_seg.data[0].numpy()


def segment_by_step(run: Run, image: np.ndarray,
                    size: int | None = None) -> list[StepView]:
    """Segment an image with the network of every finished step of a run."""
    if run.record.problem != 'segmentation' or not run.record.steps:
        raise ConfigError(f'{run.folder} holds no finished step of a '
                          'segmentation.')
    cfg = config_of(run)
    size = size or default_size(cfg)
    views = []
    for entry in run.record.steps:
        loaded = load_run_step(run, run.inside(entry['checkpoint']), cfg)
        views.append(StepView(entry['step'],
                              segment_image(loaded, image, size),
                              loaded.classes, loaded.palette))
    return views


@torch.no_grad()
def classify_image(loaded: StepModel, image: np.ndarray,
                   size: int | None = None,
                   task: int | None = None) -> list[tuple[str, float]]:
    """Names and probabilities of the classes, the most probable first.

    The image is resized to a square of ``size``. ``task``, by default the
    newest, counts where every task has a head or an order of pixels.
    """
    from mmpretrain.structures import DataSample
    if size is not None:
        source = loaded.cfg.test_dataloader.dataset.dataset
        image = _fitted(image, size, source.get('pad', 0))
    pre = loaded.model.data_preprocessor
    if not pre.to_rgb:  # trained on RGB, or on grey values
        image = image[..., ::-1]
    mean = getattr(pre, 'mean', None)
    if mean is not None and mean.numel() == 1:
        image = image.mean(-1, keepdims=True).round()
    inputs = torch.from_numpy(
        np.ascontiguousarray(image.transpose(2, 0, 1), dtype=np.uint8))
    task = loaded.step if task is None else task
    scenario = build_scenario(loaded.cfg.test_dataloader.dataset.scenario)
    if scenario.permute:
        orders = PixelOrders(scenario, inputs[0].numel())
        inputs = orders(inputs[None], torch.tensor([task]))[0]
    sample = DataSample()
    sample.set_field(task, 'task')
    result = loaded.model.test_step(
        dict(inputs=[inputs], data_samples=[sample]))[0]
    names = loaded.classes or [str(i) for i in range(len(result.pred_score))]
    pairs = zip(names, result.pred_score.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: -pair[1])


def predict(loaded: StepModel, image: np.ndarray, size: int | None = None,
            task: int | None = None) -> tuple[Figure, list]:
    """Draw what a network sees in a BGR image, with names.

    Returns the picture and the names with their shares of the image, or the
    most probable classes with their probabilities.
    """
    size = size or default_size(loaded.cfg)
    shown = image[..., ::-1]
    if is_classifier(loaded):
        scores = classify_image(loaded, image, size, task)[:MOST_PROBABLE]
        return images.classification(shown, scores), scores
    labels = segment_image(loaded, image, size)
    seen = Gallery(loaded.classes, loaded.palette).shares(labels)
    found = sorted(((name, share) for name, _, share in seen if share),
                   key=lambda pair: -pair[1])
    return images.segmentation(shown, labels, loaded.classes,
                               loaded.palette), found


def _fitted(image: np.ndarray, side: int, pad: int) -> np.ndarray:
    """Resize an image to a square; a black frame of its dataset counts."""
    inner = side - 2 * pad
    return np.pad(mmcv.imresize(image, (inner, inner)),
                  ((pad, pad), (pad, pad), (0, 0)))
