"""Whole batches in one tensor, and lists as MMPretrain takes them."""
import mmseg_spwc  # noqa: F401, I001  (before mmpretrain)

import torch
from mmpretrain.models import ClsDataPreprocessor

from mmseg_spwc.models.classifier import BatchPreprocessor
from mmseg_spwc.structures import BatchSamples

OPTIONS = dict(mean=[100., 50., 20.], std=[2., 4., 5.], to_rgb=True)


def batch():
    torch.manual_seed(0)
    images = torch.randint(0, 256, (3, 3, 4, 5), dtype=torch.uint8)
    labels, tasks = torch.tensor([[4, 2, 0], [1, 0, 0]])
    return images, BatchSamples(labels, tasks)


def test_a_batch_is_normalised_and_its_labels_are_kept():
    images, samples = batch()
    out = BatchPreprocessor(**OPTIONS)(
        dict(inputs=images, data_samples=samples), training=True)
    assert out['inputs'].dtype == torch.float32
    for b, c, h, w in torch.cartesian_prod(*map(torch.arange, images.shape)):
        value = (float(images[b, 2 - c, h, w]) - OPTIONS['mean'][c]) \
            / OPTIONS['std'][c]
        assert abs(out['inputs'][b, c, h, w] - value) < 1e-5
    assert isinstance(out['data_samples'], BatchSamples)
    assert out['data_samples'].gt_label.tolist() == [4, 2, 0]
    assert out['data_samples'].task.tolist() == [1, 0, 0]


def test_lists_are_handled_by_mmpretrain():
    images, samples = batch()
    ours, theirs = (
        kind(**OPTIONS)(dict(inputs=list(images), data_samples=list(samples)))
        for kind in (BatchPreprocessor, ClsDataPreprocessor))
    assert torch.equal(ours['inputs'], theirs['inputs'])
    assert [s.gt_label.item() for s in ours['data_samples']] == [4, 2, 0]
    assert [s.task for s in ours['data_samples']] == [1, 0, 0]


def test_images_alone_pass():
    out = BatchPreprocessor()(dict(inputs=batch()[0]))
    assert torch.equal(out['inputs'], batch()[0].float())
    assert out['data_samples'] is None
