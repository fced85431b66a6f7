import pytest

from mmseg_spwc.models import losses
from mmseg_spwc.registry import MODELS


@pytest.mark.parametrize('name', losses.__all__)
def test_every_loss_builds_from_a_config(name):
    loss = MODELS.build(dict(type=f'mmseg_spwc.{name}', loss_weight=2.))
    assert type(loss) is getattr(losses, name)
    assert loss.loss_weight == 2
