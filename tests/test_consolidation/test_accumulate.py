"""Weighted quadratics added up to one, against the definition."""
import pytest
import torch

from mmseg_spwc.consolidation import quadratic
from mmseg_spwc.consolidation.quadratic import accumulate_


def make_terms(count, shape=(7, 5), dtype=torch.float32):
    gen = torch.Generator().manual_seed(count)
    return [(.5 + t, torch.rand(shape, generator=gen).to(dtype),
             torch.randn(shape, generator=gen)) for t in range(count)]


def summed(terms, shape=(7, 5)):
    strength = torch.zeros(shape, dtype=torch.float64)
    centre = terms[0][2].double().clone(
        memory_format=torch.contiguous_format)
    return strength, centre, accumulate_(strength, centre, terms)


def one_after_the_other(terms):
    """The same operations on whole tensors."""
    strength = torch.zeros_like(terms[0][1], dtype=torch.float64)
    centre, constant = terms[0][2].double(), 0.
    for weight, gamma, anchor in terms:
        added, shift = weight * gamma.double(), anchor.double() - centre
        total = strength + added
        share = torch.where(total > 0, added / total, 0.)
        constant += (strength * share * shift**2).sum().item()
        centre, strength = centre + share * shift, total
    return strength, centre, constant


@pytest.mark.parametrize('block', [1, 8, 35, 2**14])
def test_blocks_change_no_bit(monkeypatch, block):
    terms = make_terms(6)
    terms[0][1][0] = 0.  # nothing known of these at first
    terms[3][1][1] = 0.
    for _, gamma, _ in terms:
        gamma[2] = 0.  # nor ever of these
    monkeypatch.setattr(quadratic, 'BLOCK', block)
    found, wanted = summed(terms), one_after_the_other(terms)
    assert torch.equal(found[0], wanted[0])
    assert torch.equal(found[1], wanted[1])
    assert found[2] == pytest.approx(wanted[2], rel=1e-13)


def test_it_is_the_sum_of_the_quadratics():
    terms, theta = make_terms(5), torch.randn(7, 5, dtype=torch.float64)
    strength, centre, constant = summed(terms)
    value = (strength * (theta - centre)**2).sum().item() + constant
    numbers = zip(*(x.flatten().tolist() for x in (
        theta, *(x for _, *pair in terms for x in pair))), strict=True)
    wanted = sum(
        weight * gamma * (own - anchor)**2 for own, *pairs in numbers
        for (weight, *_), gamma, anchor in zip(
            terms, pairs[::2], pairs[1::2], strict=True))
    assert value == pytest.approx(wanted, rel=1e-12)


def test_rounded_and_transposed_terms():
    terms = [(w, gamma.t(), anchor.t())
             for w, gamma, anchor in make_terms(4, (5, 7), torch.bfloat16)]
    found, wanted = summed(terms), one_after_the_other(terms)
    assert torch.equal(found[0], wanted[0])
    assert torch.equal(found[1], wanted[1])


def test_single_numbers_and_none():
    terms = make_terms(2, ())
    assert torch.equal(summed(terms, ())[0], one_after_the_other(terms)[0])
    assert summed(make_terms(2, (0, )), (0, ))[2] == 0
