"""Scores of a batch, counted by hand."""
import torch

from mmseg_spwc.models.segmentor import (
    background_kept,
    pixel_accuracy,
)


def test_accuracy_counts_hits_among_known_pixels():
    logits = torch.zeros(1, 2, 2, 2)
    logits[:, 1, 0] = 1  # the upper row says 1, the lower 0
    labels = torch.tensor([[[1, 1, 0, 0], [1, 1, 0, 0],
                            [0, 0, 255, 255], [0, 0, 255, 255]]])
    accuracy = pixel_accuracy(logits, labels)
    torch.testing.assert_close(accuracy, torch.tensor(200 / 3))


def test_the_background_that_is_kept_is_counted_by_hand():
    """2 x 2 pixels: old background is kept, lost to a new class, a new
    class's own pixel, and no background before."""
    old = torch.zeros(1, 2, 2, 2)
    old[0, 1, 1, 1] = 1  # the last pixel was class 1
    new = torch.zeros(1, 3, 2, 2)
    new[0, 2, 0, 1] = new[0, 2, 1, 0] = 1
    labels = torch.tensor([[[0, 0], [2, 0]]])
    assert background_kept(new, old, labels) == 50
    large = labels.repeat_interleave(8, 1).repeat_interleave(8, 2)
    assert background_kept(new, old, large) == 50
    nothing = torch.full_like(labels, 255)
    assert background_kept(new, old, nothing) == 0
