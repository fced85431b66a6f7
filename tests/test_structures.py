"""The labels of a whole batch, taken apart into samples."""
import pickle

import pytest
import torch

from mmseg_spwc.structures import BatchSamples


def test_samples_of_a_batch():
    pytest.importorskip('mmpretrain')
    scores = torch.tensor([[.1, .9], [.8, .2], [.4, .6]])
    batch = BatchSamples(
        torch.tensor([1, 0, 0]), torch.tensor([4, 5, 6]), scores)
    samples = list(batch)
    assert len(batch) == len(samples) == 3
    assert [int(s.gt_label) for s in samples] == [1, 0, 0]
    assert [s.task for s in samples] == [4, 5, 6]
    assert [int(s.pred_label) for s in samples] == [1, 0, 1]
    assert torch.equal(samples[1].pred_score, scores[1])


def test_without_predictions():
    pytest.importorskip('mmpretrain')
    batch = BatchSamples(torch.tensor([2]), torch.tensor([0]))
    assert 'pred_score' not in batch[0]
    moved = pickle.loads(pickle.dumps(batch)).to('meta')
    assert moved.gt_label.device.type == moved.task.device.type == 'meta'
    assert moved.pred_score is None
