"""Classes from easy to hard, by images that the model was not fitted to."""
import pytest
import torch
from scripts import load


@pytest.fixture(scope='module')
def tool():
    return load('tools/analysis_tools/rank_classes.py')


def test_scores_are_those_of_a_fit_by_hand(tool):
    torch.manual_seed(0)
    labels = torch.arange(60) % 3
    features = torch.randn(60, 5) + 3 * torch.eye(3, 5)[labels]
    scores = tool.class_scores(features, labels, ridge=2.)
    order = torch.from_numpy(tool.np.random.default_rng(0).permutation(60))
    shares = {c: [] for c in range(3)}
    for held in order.chunk(5):
        kept = [i for i in range(60) if i not in held.tolist()]
        x = features[kept]
        y = torch.eye(3)[labels[kept]]
        weight = torch.linalg.inv(x.T @ x + 2 * torch.eye(5)) @ x.T @ y
        for i in held.tolist():
            score, own = features[i] @ weight, int(labels[i])
            shares[own].append(sum(
                float(score[c] < score[own]) for c in range(3)) / 2)
    expected = [sum(shares[c]) / len(shares[c]) for c in range(3)]
    assert scores.tolist() == pytest.approx(expected)


def test_noise_is_harder_than_a_colour(tool):
    """Class 0 has a colour of its own, the labels 1 to 4 are drawn."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(
        0, 256, (300, 3, 16, 16), generator=generator).to(torch.uint8)
    labels = torch.randint(1, 5, (300, ), generator=generator)
    labels[:60] = 0
    images[:60, 0] = 255
    scores = tool.class_scores(tool.patch_features(images), labels)
    assert scores[0] == scores.max() > .95
    assert scores[1:].mean() < .75
