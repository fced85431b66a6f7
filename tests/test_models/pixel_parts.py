"""Pixels of an old model, and one pixel's entropy in plain Python."""
import math

import torch


def entropy_of(scores, num_classes, compat):
    """Entropy of one pixel's logits, in plain Python."""
    exps = [math.exp(s) for s in scores]
    probs = [e / sum(exps) for e in exps]
    if compat is None:
        total = -sum(p * math.log(p) for p in probs)
        return total / math.log(len(probs))
    mean = -sum(p * math.log(p + 1e-8) for p in probs) / len(probs)
    return mean / math.log(len(probs)) / math.log(num_classes)


def draw(num_old=4, num_new=2, size=6):
    torch.manual_seed(0)
    old_logits = 2 * torch.randn(3, num_old, size, size)
    labels = torch.randint(0, num_old + num_new, (3, size, size))
    labels[labels < num_old] = 0
    labels[0, 0] = 255
    labels[2][labels[2] == 0] = num_old  # an image without background
    return old_logits, labels
