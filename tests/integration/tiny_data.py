"""Datasets of a few images, laid out as the real ones are."""
import pickle
import struct
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from mmseg_spwc.scenario import Scenario

SIZE = 64  # side of the images to segment
TRAIN, TEST = 3, 1  # images of a class to classify; one of three is held out


def write_pair(image: Path, mask: Path, labels: list) -> None:
    """Write noise and a mask of 4x4 blocks that holds all labels."""
    for path in (image, mask):
        path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(len(labels))
    cv2.imwrite(str(image), rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8))
    blocks = np.resize(np.uint8(labels), (SIZE // 4, SIZE // 4))
    cv2.imwrite(str(mask), blocks.repeat(4, 0).repeat(4, 1))


def new_labels(scenario: Scenario, step: int) -> list:
    return sorted(c - scenario.label_offset
                  for c in scenario.new_classes(step))


def labels_of(scenario: Scenario, step: int) -> list:
    return sorted({0, *new_labels(scenario, step)})


def write_voc(root: Path, scenario: Scenario, steps: list) -> None:
    """VOC's layout, with the images of step 0 in one list, the rest as SBD's.

    Three images a step: one is held out, two make a batch.
    """
    lists = root / 'ImageSets' / 'Segmentation'
    lists.mkdir(parents=True)
    names = {'train': [], 'aug': [], 'val': []}
    for step in steps:
        for i, split in enumerate([*['aug' if step else 'train'] * 3, 'val']):
            name = f'{step:02d}_{i}'
            names[split].append(name)
            masks = 'SegmentationClass' + 'Aug' * (split == 'aug')
            write_pair(root / 'JPEGImages' / f'{name}.jpg',
                       root / masks / f'{name}.png',
                       labels_of(scenario, step))
    for split, found in names.items():
        (lists / f'{split}.txt').write_text('\n'.join(found) + '\n')


def write_shapes(root: Path, scenario: Scenario, steps: list) -> None:
    """As VOC, with one training list."""
    write_voc(root, scenario, steps)
    lists = root / 'ImageSets' / 'Segmentation'
    with open(lists / 'train.txt', 'a') as file:
        file.write((lists / 'aug.txt').read_text())
    for mask in (root / 'SegmentationClassAug').iterdir():
        mask.rename(root / 'SegmentationClass' / mask.name)


def write_ade(root: Path, scenario: Scenario, steps: list) -> None:
    for step in steps:
        for i, split in enumerate([*['training'] * 3, 'validation']):
            write_pair(root / 'images' / split / f'{step}_{i}.jpg',
                       root / 'annotations' / split / f'{step}_{i}.png',
                       labels_of(scenario, step))


def write_cities(root: Path, scenario: Scenario, steps: list) -> None:
    """One city a step, and one that stands for the folder of val.

    Four images a city: one tests, one is held out, two make a batch.
    """
    cities = [(scenario.steps[step][0], 'train') for step in steps]
    for city, split in [*cities, ('munster', 'val')]:
        for i in range(4):
            write_street(root, split, f'{city}/{city}_{i:06d}_000019',
                         list(range(19)))


def write_classes(root: Path, scenario: Scenario, steps: list) -> None:
    """Cityscapes class by class: three images a step, and one of val."""
    for step in steps:
        for i, split in enumerate([*['train'] * 3, 'val']):
            write_street(root, split, f'city/city_{step:02d}{i}_000019',
                         new_labels(scenario, step))


def write_street(root: Path, split: str, name: str, labels: list) -> None:
    write_pair(root / 'leftImg8bit' / split / f'{name}_leftImg8bit.png',
               root / 'gtFine' / split / f'{name}_gtFine_labelTrainIds.png',
               labels)


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def write_idx(root: Path, prefix: str, images: np.ndarray,
              labels: np.ndarray) -> None:
    """Two of MNIST's four files."""
    root.mkdir(exist_ok=True)
    for name, array in (('images-idx3', images), ('labels-idx1', labels)):
        header = bytes([0, 0, 8, array.ndim]) + struct.pack(
            f'>{array.ndim}I', *array.shape)
        (root / f'{prefix}-{name}-ubyte').write_bytes(
            header + array.astype(np.uint8).tobytes())


def write_mnist(root: Path, *_: object) -> None:
    """The four IDX files."""
    for prefix, count in (('train', TRAIN), ('t10k', TEST)):
        labels = np.repeat(np.arange(10), count)
        write_idx(root, prefix, noise(len(labels), 28, 28), labels)


def write_mnist_fashion(root: Path, *_: object) -> None:
    """The same files in two folders."""
    for folder in ('mnist', 'fashion-mnist'):
        (root / folder).mkdir()
        write_mnist(root / folder)


def write_cifar(root: Path, *_: object) -> None:
    """The pickles of the python version."""
    folder = root / 'cifar-100-python'
    folder.mkdir()
    for name, count in (('train', TRAIN), ('test', TEST)):
        labels = np.repeat(np.arange(100), count).tolist()
        content = dict(data=noise(len(labels), 3072), fine_labels=labels)
        (folder / name).write_bytes(pickle.dumps(content, 2))
    names = [f'class {i}' for i in range(100)]
    (folder / 'meta').write_bytes(
        pickle.dumps(dict(fine_label_names=names), 2))


def write_tiny(root: Path, *_: object) -> None:
    """The folders train and val, the latter with annotations."""
    (root / 'val' / 'images').mkdir(parents=True)
    lines, image = [], Image.fromarray(noise(64, 64, 3))
    for c in range(200):
        wnid = f'n{c:08d}'
        folder = root / 'train' / wnid / 'images'
        folder.mkdir(parents=True)
        for i in range(TRAIN):
            image.save(folder / f'{wnid}_{i}.JPEG')
        image.save(root / f'val/images/val_{c}.JPEG')
        lines.append(f'val_{c}.JPEG\t{wnid}\t0\t0\t63\t63\n')
    (root / 'val' / 'val_annotations.txt').write_text(''.join(lines))


def write_nothing(root: Path, *_: object) -> None:
    """The digits come with scikit-learn."""


# each takes the root, the scenario and the steps that need images
WRITERS = dict(
    voc=write_voc, shapes=write_shapes, ade=write_ade,
    cityscapes=write_classes, cityscapes_domain=write_cities,
    permuted_digits=write_nothing, permuted_mnist=write_mnist,
    permuted_mnist_fashion=write_mnist_fashion,
    cifar100=write_cifar, tiny_imagenet=write_tiny)
