"""The memory collects what a loop over pixels would."""
import io

import pytest
import torch

from mmseg_spwc.models.feature_replay import FeatureMemory, region_means


def means_by_loops(features, labels, label, min_region):
    """Mean over the region's pixels, each with its cell's feature."""
    means = []
    height, width = labels.shape[1:]
    rows, columns = features.shape[2:]
    for image, mask in zip(features, labels, strict=True):
        vectors = [
            image[:, y * rows // height, x * columns // width]
            for y in range(height) for x in range(width)
            if mask[y, x] == label
        ]
        if len(vectors) > min_region * height * width:
            means.append(sum(vectors) / len(vectors))
    return means


@pytest.mark.parametrize('min_region', [0., 0.1, 0.2])
def test_means_against_loops(min_region):
    torch.manual_seed(0)
    features = torch.randn(6, 3, 4, 2)
    labels = torch.randint(0, 5, (6, 8, 8))
    labels[:, :2] = 255
    labels[0][labels[0] == 2] = 0
    found = region_means(features, labels, (1, 2, 7), min_region)
    for label in (1, 2, 7):
        expected = means_by_loops(features, labels, label, min_region)
        assert found[label].shape == (len(expected), 3)
        if expected:
            torch.testing.assert_close(found[label], torch.stack(expected))
    assert len(found[7]) == 0


def test_a_region_must_exceed_the_share():
    labels = torch.zeros(2, 20, 20, dtype=torch.long)
    labels[0, 0, :2] = 1  # 0.5 % of 400 pixels
    labels[1, 0, :3] = 1
    features = torch.stack([torch.zeros(4, 5, 5), torch.ones(4, 5, 5)])
    found = region_means(features, labels, [1])[1]
    assert torch.equal(found, torch.ones(1, 4))


def filled(size=8):
    memory = FeatureMemory(size)
    memory.add(4, torch.arange(6.).view(3, 2))
    memory.add(2, 10 + torch.arange(40.).view(20, 2))
    return memory


@pytest.mark.parametrize('size', [1, 8, 100])
def test_features_are_drawn_with_replacement(size):
    memory = filled(size)
    assert memory.classes == [2, 4]
    for label, source in ((4, torch.arange(6.).view(3, 2)),
                          (2, 10 + torch.arange(40.).view(20, 2))):
        kept = memory.features[label]
        assert kept.shape == (size, 2)
        assert all(any(torch.equal(k, s) for s in source) for k in kept)
    if size == 100:
        assert len(memory.features[4].unique(dim=0)) == 3


def test_labelled_features_belong_to_their_class():
    memory = filled()
    features, labels = memory.labelled()
    for label in memory.classes:
        assert torch.equal(features[labels == label], memory.features[label])


def test_features_can_be_replaced():
    memory = filled()
    old = memory.stacked()
    memory.replace(-old)
    assert torch.equal(memory.features[2], -old[0])
    assert torch.equal(memory.features[4], -old[1])
    with pytest.raises(ValueError, match='shorter'):
        memory.replace(old[:1])


@pytest.mark.parametrize('make', [filled, lambda: FeatureMemory(5)])
def test_state_survives_a_file(make):
    memory, buffer = make(), io.BytesIO()
    torch.save(memory.state_dict(), buffer)
    buffer.seek(0)
    again = FeatureMemory.from_state_dict(
        torch.load(buffer, weights_only=True))
    assert again.size == memory.size
    assert again.classes == memory.classes
    for label in memory.classes:
        assert torch.equal(again.features[label], memory.features[label])


def test_a_memory_of_nothing_is_refused():
    with pytest.raises(ValueError, match='at least one feature'):
        FeatureMemory(0)
