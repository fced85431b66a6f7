"""Datasets that are wrong: segmentation, then classification."""
import gzip
import pickle
import struct
from pathlib import Path

import numpy as np
import torch
from digit_runs import CONFIGS
from mmengine.config import Config
from PIL import Image
from wrong_inputs import Row, digits_with, train

from mmseg_spwc.apis.check import check_run
from mmseg_spwc.datasets.continual_cls import ContinualClsDataset
from mmseg_spwc.datasets.images.cifar import CifarImages
from mmseg_spwc.datasets.images.idx import IdxImages
from mmseg_spwc.datasets.images.source import ImageSource, concatenate
from mmseg_spwc.datasets.images.tiny_imagenet import TinyImageNet

FIRST = 'train_000000'  # of the shapes


def first(folder: Path) -> Path:
    return sorted(folder.iterdir())[0]


def spoilt(spoil, **options):
    """Train on the shapes after ``spoil(root)``."""

    def make(case):
        root = case.copy_of_shapes()
        spoil(root)
        train(case.segment(data_root=str(root), **options))

    return make


def masks(root: Path) -> Path:
    return root / 'SegmentationClass'


def listing(root: Path) -> Path:
    return root / 'ImageSets' / 'Segmentation' / 'train.txt'


def new_list(change):
    return spoilt(lambda root: listing(root).write_text(
        change(listing(root).read_text())))


def new_mask(array):
    return spoilt(lambda root: Image.fromarray(array).save(
        first(masks(root))))


def labelled(value: int):
    mask = np.zeros((32, 32), np.uint8)
    mask[0, 0] = value
    return mask


def without_last_classes(root: Path) -> None:
    for path in masks(root).iterdir():
        mask = np.array(Image.open(path))
        Image.fromarray(np.where(mask < 8, mask, 0)).save(path)


def pipeline_without_masks(case):
    cfg = case.segment()
    cfg.train_dataloader.dataset.pipeline.pop(1)
    train(cfg)


def kept_without_masks(case):
    pipeline = [dict(type='LoadImageFromFile'),
                dict(type='Resize', scale=(32, 32)),
                dict(type='LoadAnnotations'), dict(type='PackSegInputs')]
    train(case.segment(keep_decoded=.01, **{
        'train_dataloader.dataset.pipeline': pipeline}), begins=True)


def tall(root: Path) -> None:
    """An image that is wider than high, and its mask turned."""
    Image.new('RGB', (32, 20)).save(first(root / 'JPEGImages'))
    Image.fromarray(np.zeros((32, 20), np.uint8)).save(first(masks(root)))


def named(classes):
    """A dataset of plain mmseg with these names."""

    def make(case):
        cfg = case.segment()
        pipeline = cfg.train_dataloader.dataset.pipeline
        cfg.train_dataloader.dataset = dict(
            type='BaseSegDataset', metainfo=dict(classes=classes),
            ann_file='ImageSets/Segmentation/train.txt', pipeline=pipeline,
            data_prefix=dict(img_path='JPEGImages',
                             seg_map_path='SegmentationClass'))
        train(cfg)

    return make


def repeated(case):
    cfg = case.segment()
    cfg.train_dataloader.dataset = dict(
        type='RepeatDataset', times=2, dataset=cfg.train_dataloader.dataset)
    train(cfg)


def truncated(case):
    root = case.copy_of_shapes()
    image = first(root / 'JPEGImages')
    image.write_bytes(image.read_bytes()[:-100])
    check_run(case.segment(data_root=str(root)))


SEGMENTATION = [Row(*row) for row in (
    ('images kept that are not as they are read', kept_without_masks,
     'not with LoadImageFromFile and Resize: change it, or set keep_decoded'),
    ('no data to segment', lambda case: train(
        case.segment(data_root='none')),
     'none/.*does not exist; set'),
    ('no list file', spoilt(lambda root: listing(root).unlink()),
     'train.txt does not exist; set'),
    ('empty list', new_list(lambda text: ''), 'holds no image. Check'),
    ('list names a missing image', new_list(lambda text: text + 'ghost\n'),
     'image files are missing, the first is .*ghost.jpg. Check'),
    ('list names an image twice', new_list(lambda text: 2 * text),
     'is listed twice.*remove'),
    ('missing mask', spoilt(lambda root: first(masks(root)).unlink()),
     f'mask files are missing, the first is .*{FIRST}.png. Check'),
    ('missing image', spoilt(
        lambda root: first(root / 'JPEGImages').unlink()),
     f'image files are missing, the first is .*{FIRST}.jpg. Check'),
    ('label out of range', new_mask(labelled(77)),
     f'{FIRST}.*holds the label 77.*convert the mask'),
    ('batch larger than a step of images', lambda case: train(
        case.segment(total_batch_size=90)), 'fewer than the total batch'),
    ('colour mask', new_mask(np.zeros((32, 32, 3), np.uint8)),
     'one channel of class ids. Colour masks must be converted'),
    ('mask of another size', new_mask(np.zeros((20, 32), np.uint8)),
     '32x20 pixels, its image 32x32: a mask has the size of its image'),
    ('mask that is not an image', spoilt(
        lambda root: first(masks(root)).write_text('no picture')),
     'The mask .* cannot be read .*: get it anew'),
    ('image that is none', spoilt(
        lambda root: first(root / 'JPEGImages').write_text('no picture')),
     'The image .* cannot be read .*: get it anew'),
    ('step without images', spoilt(without_last_classes),
     'No training image for step 1 .*: check the data'),
    ('pipeline without masks', pipeline_without_masks,
     'no LoadAnnotations; a step needs'),
    ('mask that lies on its side', spoilt(tall),
     '20x32 pixels, its image 32x20: a mask has the size of its image'),
    ('reduced zero label without offset', lambda case: train(case.segment(
        **{'train_dataloader.dataset.reduce_zero_label': True})),
     'reduce_zero_label=True makes value 1 of the masks 0, .*: set '
     r'scenario\.label_offset=1'),
    ('image that ends early, when a run is checked', truncated,
     'of .* images cannot be read: .*truncated.*Get them anew'),
    ('repeated dataset', repeated, 'is a RepeatDataset, but a step needs '
     'every image .* once.*give the dataset inside it, and more epochs'),
    ('two classes of one name', named(['background', *'abcdefghi', 'a']),
     "called 'a': give every class a name of its own"),
    ('fewer names than classes', named(['background', *'abcdefgh']),
     'Got 9 names or colours for shapes, which has 11 class ids'),
    ('unknown dataset type', lambda case: train(case.segment(
        **{'train_dataloader.dataset.type': 'VOC'})),
     'VOC is not in the .*check'),
)]

LABELS = 't10k-labels-idx1-ubyte'
IMAGES = 't10k-images-idx3-ubyte'


def idx(array: np.ndarray, magic: int = 0x08) -> bytes:
    header = bytes([0, 0, magic, array.ndim])
    return header + struct.pack(f'>{array.ndim}I', *array.shape) \
        + array.tobytes()


def idx_files(changes):
    """Read ten images after some files were replaced."""

    def make(case):
        files = {IMAGES: idx(np.zeros((10, 4, 4), np.uint8)),
                 LABELS: idx(np.arange(10, dtype=np.uint8)), **changes}
        for name, content in files.items():
            (case.folder / name).write_bytes(content)
        IdxImages(case.folder, 'test')

    return make


def cifar_files(case, data) -> None:
    (case.folder / 'test').write_bytes(pickle.dumps(data))
    names = [str(i) for i in range(100)]
    (case.folder / 'meta').write_bytes(
        pickle.dumps({'fine_label_names': names}))
    CifarImages(case.folder, 'test')


class Evil:

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path / 'executed', )


def tiny_without_image(case):
    for name in ('train/n1', 'val/images'):
        (case.folder / name).mkdir(parents=True)
    (case.folder / 'val' / 'val_annotations.txt').write_text('a.JPEG\tn1\n')
    TinyImageNet(case.folder, 'test')


def two_shapes(case):
    labels = torch.arange(2)
    sources = [ImageSource(torch.zeros(2, 1, s, s), labels, 'ab')
               for s in (4, 5)]
    concatenate(sources)


def leaf(pattern):
    """Train a leaf without the files of its dataset."""

    def make(case):
        path, = CONFIGS.glob(f'ewc/ewc_*{pattern}.py')
        cfg = Config.fromfile(path)
        cfg.merge_from_dict(dict(work_dir=str(case.folder / 'run'),
                                 data_root='/no/where'))
        train(cfg)

    return make


def few_classes(case):
    """Labels 0 to 9 in a scenario of five classes."""
    ContinualClsDataset(
        dict(type='mmseg_spwc.DigitImages'),
        dict(problem='classification', kind='task', dataset='half',
             num_classes=5, steps=[[0, 1, 2], [3, 4]]), 0)


CLASSIFICATION = [Row(*row) for row in (
    ('no IDX files', digits_with(**{'train_dataloader.dataset': dict(
        _delete_=True, type='mmseg_spwc.IdxImages', data_root='none')}),
     'put train-images-idx3-ubyte or .* into none'),
    ('truncated IDX file', idx_files({
        IMAGES: idx(np.zeros((10, 4, 4), np.uint8))[:-5]}),
     'has 155 elements, but its header says .*: get it anew'),
    ('IDX file that ends in its header', idx_files({
        IMAGES: bytes([0, 0, 8, 3, 0])}), 'ends within its header: get'),
    ('wrong magic number', idx_files({LABELS: b'PK\3\4 a zip file'}),
     'is not an IDX file of bytes: it starts with 504b0304'),
    ('broken gzip', lambda case: (
        (case.folder / f'{IMAGES}.gz').write_bytes(
            gzip.compress(idx(np.zeros((10, 4, 4), np.uint8)))[:-9]),
        IdxImages(case.folder, 'test')), 'is broken .*: get it anew'),
    ('images and labels swapped', idx_files({
        IMAGES: idx(np.zeros(10, np.uint8))}), 'may have been swapped'),
    ('fewer labels than images', idx_files({
        LABELS: idx(np.zeros(9, np.uint8))}),
     '10 images have 9 labels: get'),
    ('label out of range of the scenario', few_classes,
     'labels of half go from 0 to 4: correct'),
    ('no CIFAR files', lambda case: CifarImages(case.folder, 'train'),
     'CIFAR-100 .* not complete: put .*cifar-100-python/train'),
    ('CIFAR-10 instead', lambda case: cifar_files(
        case, {'data': np.zeros((1, 3072), np.uint8), 'labels': [0]}),
     "no 'fine_labels': it is not of CIFAR-100; get"),
    ('CIFAR images of another size', lambda case: cifar_files(
        case, {'data': np.zeros((1, 10), np.uint8), 'fine_labels': [0]}),
     'uint8 of shape .*: get the files anew'),
    ('malicious CIFAR file', lambda case: cifar_files(
        case, Evil(case.folder)), 'it wants to call .*Get it anew'),
    ('leaf without MNIST', leaf('_permuted-mnist'), '^error: data: ',
     'train-images-idx3-ubyte', 'data_root', '/no/where'),
    ('leaf without CIFAR', leaf('_cifar100*'), '^error: data: ',
     'cifar-100-python/train', 'data_root', '/no/where'),
    ('leaf without Tiny ImageNet', leaf('_tiny-imagenet*'), '^error: data: ',
     'tiny-imagenet-200.zip', 'train', 'val', 'data_root', '/no/where'),
    ('no Tiny ImageNet', lambda case: TinyImageNet(case.folder),
     'put the folders train and val'),
    ('missing image of Tiny ImageNet', tiny_without_image,
     '1 images .* are missing.*a.JPEG: unpack'),
    ('images of two sizes', two_shapes, 'give sources of one shape'),
    ('unknown split', lambda case: IdxImages(case.folder, 'val'),
     "'train' or 'test', not 'val'"),
)]
