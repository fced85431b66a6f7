from inspect import signature

import pytest
import torch

from mmseg_spwc.models import losses
from mmseg_spwc.models.quantities import Maps
from mmseg_spwc.registry import MODELS


@pytest.mark.parametrize('name', losses.__all__)
def test_every_loss_builds_from_a_config(name):
    loss = MODELS.build(dict(type=f'mmseg_spwc.{name}', loss_weight=2.))
    assert type(loss) is getattr(losses, name)
    assert loss.loss_weight == 2


def quantities(dtype):
    """All that losses of pixels and of images ask for, as large as 1e3."""
    torch.manual_seed(0)

    def draw(*shape):
        return (1e3 * torch.randn(shape)).clamp(-3e3, 3e3).to(dtype)

    def pixels(num_old, *shape):
        return dict(
            logits=draw(2, 6, *shape), old_logits=draw(2, num_old, *shape),
            labels=torch.randint(0, 6, (2, *shape)), num_old=num_old,
            num_new=2, old_heads=[(0, 2), (2, 2)], num_old_tasks=2,
            features=Maps([*draw(2, 2, 8, 8, 8), draw(2, 6, 8, 8)]),
            old_features=Maps(
                [*draw(2, 2, 8, 8, 8), draw(2, num_old, 8, 8)]))

    return pixels(4, 8, 8), pixels(4)


@pytest.mark.parametrize('dtype', [torch.float16, torch.bfloat16])
@pytest.mark.parametrize('name', losses.__all__)
def test_large_half_precision_numbers_are_widened_first(name, dtype):
    """Squares of 1e3 overflow float16: all is computed in float32."""
    loss = MODELS.build(dict(type=f'mmseg_spwc.{name}'))
    asked = signature(loss.forward).parameters
    of_pixels, of_images = quantities(dtype)
    all_of_them = of_images if name.startswith(('Head', 'Task')) \
        else of_pixels
    given = {k: v for k, v in all_of_them.items() if k in asked}
    if hasattr(loss, 'prototypes') or not given.keys() >= {
            k for k, v in asked.items() if v.default is v.empty}:
        pytest.skip('asks for more than maps and labels')
    wide = {k: Maps(x.float() for x in v) if isinstance(v, Maps) else v.float()
            if getattr(v, 'dtype', None) == dtype else v
            for k, v in given.items()}
    found = []
    for batch in given, wide:
        batch = dict(batch)
        key = 'logits' if 'logits' in batch else 'features'
        maps = batch[key] if isinstance(batch[key], Maps) else [batch[key]]
        maps = [x.clone().requires_grad_() for x in maps]
        batch[key] = Maps(maps) if isinstance(batch[key], Maps) else maps[0]
        value = loss(**batch)
        value = sum(value.values()) if isinstance(value, dict) else value
        assert value.dtype == torch.float32 and value.isfinite()
        grads = torch.autograd.grad(value, maps, allow_unused=True)
        found.append([value, *(g.float() for g in grads if g is not None)])
        assert len(found[-1]) > 1
    assert all(x.isfinite().all() for x in found[0])
    assert torch.equal(found[0][0], found[1][0])
