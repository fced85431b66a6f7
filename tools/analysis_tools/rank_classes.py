"""Sort the classes of small images from easy to hard, without training.

    python tools/analysis_tools/rank_classes.py tiny_imagenet DATA_ROOT

prints the class ids, the easiest first. The model is cheap and linear: the
responses of random patches of the training images, whitened, rectified and
averaged over quarters of the image (Coates, Ng and Lee, AISTATS 2011, with
random filters), then ridge regression on the classes. It is fitted five times
to four fifths of the training images; a class is easy if, on the fifth that
was left out, its own images score higher for it than for other classes. Test
images and test labels are not read.
"""
import argparse

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mmseg_spwc.datasets.images.cifar import CifarImages
from mmseg_spwc.datasets.images.tiny_imagenet import TinyImageNet
from mmseg_spwc.errors import input_errors, user_errors

SOURCES = dict(cifar100=CifarImages, tiny_imagenet=TinyImageNet)
SIDE, PATCH, FILTERS, FOLDS = 32, 6, 400, 5


def patch_features(images: Tensor, seed: int = 0) -> Tensor:
    """Rectified responses of whitened random patches, (N, 8 * FILTERS).

    Images are uint8, (N, 3, H, W); ``seed`` chooses the patches.
    """
    rng = np.random.default_rng(seed)
    small = F.adaptive_avg_pool2d(images.float() / 255, SIDE)
    rows = torch.from_numpy(rng.integers(len(small), size=20 * FILTERS))
    places = rng.integers(SIDE - PATCH + 1, size=(len(rows), 2))
    patches = torch.stack([
        small[i, :, y:y + PATCH, x:x + PATCH].flatten()
        for i, (y, x) in zip(rows.tolist(), places.tolist(), strict=True)
    ])
    centre = patches.mean(0)
    values, vectors = torch.linalg.eigh(torch.cov(patches.T))
    whiten = vectors / (values + 1e-3).sqrt() @ vectors.T
    filters = F.normalize((patches[:FILTERS] - centre) @ whiten) @ whiten
    bias = -filters @ centre
    weight = filters.view(FILTERS, 3, PATCH, PATCH)
    found = []
    for chunk in small.split(256):
        response = F.conv2d(chunk, weight, bias)
        both = torch.cat([response.relu(), (-response).relu()], 1)
        found.append(F.adaptive_avg_pool2d(both, 2).flatten(1))
    features = torch.cat(found)
    return (features - features.mean(0)) / (features.std(0) + 1e-6)


def class_scores(features: Tensor, labels: Tensor, ridge: float = 1e3,
                 seed: int = 0) -> Tensor:
    """How often an image left out scores higher for its own class.

    For every class, the mean over its images of the share of other classes
    whose score is lower; 0.5 is chance. Features are (N, D).
    """
    classes = int(labels.max()) + 1
    targets = F.one_hot(labels, classes).float()
    order = torch.from_numpy(np.random.default_rng(seed).permutation(
        len(labels)))
    shares = torch.empty(len(labels))
    for held in order.chunk(FOLDS):
        kept = torch.ones(len(labels)).bool()
        kept[held] = False
        x, y = features[kept], targets[kept]
        gram = x.T @ x + ridge * torch.eye(x.shape[1])
        scores = features[held] @ torch.linalg.solve(gram, x.T @ y)
        own = scores.gather(1, labels[held][:, None])
        shares[held] = (scores < own).sum(1) / (classes - 1)
    return torch.stack([shares[labels == c].mean() for c in range(classes)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('dataset', choices=SOURCES)
    parser.add_argument('data_root', help='the folder of the dataset')
    args = parser.parse_args()
    with user_errors(), input_errors(args.dataset):
        source = SOURCES[args.dataset](args.data_root, 'train')
    scores = class_scores(patch_features(source.images), source.labels)
    order = scores.argsort(descending=True, stable=True)
    print(','.join(map(str, order.tolist())))
    print(f'mean score {scores.mean():.3f}, easiest {scores.max():.3f}, '
          f'hardest {scores.min():.3f}')


if __name__ == '__main__':
    main()
