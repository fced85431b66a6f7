"""The guard names the loss, the layer and the files, and saves the weights."""
import math

import pytest
import torch
from mmengine.hooks import Hook
from torch import nn
from toy_runs import Points, Toy, toy_runner, weights

from mmseg_spwc.engine.optim import consolidated
from mmseg_spwc.errors import NonFiniteError, user_errors
from mmseg_spwc.runtime import FiniteGuardHook
from mmseg_spwc.runtime.finite_guard import bad_losses, first_bad_layer


class Breaks(Toy):
    """Goes wrong in a chosen place, at one image or from one call on."""

    def __init__(self, place, at=5):
        super().__init__()
        self.place = place
        self.at = at
        self.calls = 0

    def forward(self, inputs, data_samples=None, mode='loss'):
        self.calls += 1
        broken = self.calls >= self.at
        x = torch.stack(inputs)
        hidden = self.drop(self.first(x))
        if broken and self.place == 'layer':
            hidden = hidden * math.inf
        out = self.last(hidden)
        losses = dict(loss_square=out.square().mean(),
                      loss_other=out.abs().mean(), accuracy=out.mean() / 0)
        if broken and self.place == 'loss':
            losses['loss_other'] = (out.abs() * 0).log().mean()
        if broken and self.place == 'gradient':
            # finite value, infinite slope
            losses['loss_other'] = (hidden * 0).abs().sqrt().sum()
        if broken and self.place == 'constant':
            losses['loss_other'] = torch.tensor(math.nan)
        return losses


def run(folder, model, **options):
    runner = toy_runner(folder, hooks=[FiniteGuardHook()], model=model,
                        interval=1, **options)
    with pytest.raises(NonFiniteError) as error:
        runner.train()
    return runner, str(error.value)


@pytest.mark.parametrize('place, told', [
    ('layer', 'Not finite: loss_square, loss_other. It begins in the output '
     'of last.'),
    ('loss', "Not finite: loss_other. Every layer's output is finite"),
    ('constant', 'Not finite: loss_other.'),
    ('gradient', 'backward pass, nearest to the loss at first.bias'),
])
def test_the_place_is_named(tmp_path, place, told):
    runner, message = run(tmp_path, Breaks(place))
    assert told in message
    assert 'in iteration 5.' in message
    assert ('.png' in message) == (place != 'gradient')
    # spoilt by nothing: the weights are those of before the bad step
    assert weights(runner).isfinite().all()
    assert (tmp_path / 'epoch_1.pth').exists()
    assert not (tmp_path / 'epoch_2.pth').exists()


class Pull(Hook):
    """A penalty whose gradient overflows from the fifth update on."""
    priority = 'NORMAL'

    def before_train(self, runner):
        self.updates = 0
        consolidated(runner).hold(
            dict(runner.model.named_parameters()), self)

    def before_update(self, params):
        self.updates += 1
        for param in params.values() if self.updates == 5 else ():
            param.grad += math.inf

    def after_update(self, params):
        pass


def test_what_a_penalty_adds_is_looked_at_too(tmp_path):
    runner = toy_runner(tmp_path, hooks=[FiniteGuardHook(), Pull()],
                        model=Breaks('nowhere'), interval=1)
    with pytest.raises(NonFiniteError, match='gradient.*in iteration 5'):
        runner.train()
    assert weights(runner).isfinite().all()


def test_the_files_are_those_of_the_batch(tmp_path):

    class Bad(Points):

        def __getitem__(self, key):
            sample = super().__getitem__(key)
            if key[0] == 7:
                sample['inputs'][2] = math.nan
            return sample

    runner = toy_runner(tmp_path, hooks=[FiniteGuardHook()], dataset=Bad())
    with pytest.raises(NonFiniteError, match='output of first') as error:
        runner.train()
    named = str(error.value).split('The batch: ')[1].split('.png.')[0]
    files = named.replace('.png', '').split(', ')
    assert '7' in files and len(files) <= 4


def test_exit_code(capsys):
    with pytest.raises(SystemExit) as stop, user_errors():
        raise NonFiniteError('Something is not finite.')
    assert stop.value.code == 3
    assert capsys.readouterr().err == 'error: Something is not finite.\n'


def test_a_good_run_is_not_changed(tmp_path):
    plain = toy_runner(tmp_path / 'a')
    plain.train()
    guarded = toy_runner(tmp_path / 'b', hooks=[FiniteGuardHook()])
    guarded.train()
    assert torch.equal(weights(plain), weights(guarded))
    assert not guarded.model._forward_pre_hooks


class Scaler:

    def is_enabled(self):
        return True


def test_a_scaler_may_overflow(tmp_path):
    """Gradients are the scaler's business; the loss is still looked at."""

    def scaled(place):
        hook = FiniteGuardHook()
        runner = toy_runner(tmp_path / place, hooks=[hook],
                            model=Breaks(place, at=12))
        runner.optim_wrapper = runner.build_optim_wrapper(
            runner.optim_wrapper)
        runner.optim_wrapper.loss_scaler = Scaler()
        return runner

    scaled('gradient').train()
    with pytest.raises(NonFiniteError, match='The loss'):
        scaled('constant').train()


def test_first_bad_layer_by_hand():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(
        nn.ReLU(), nn.Linear(2, 2)), nn.Linear(2, 1))

    class Losses(nn.Module):

        def __init__(self):
            super().__init__()
            self.net = model

        def forward(self, x):
            return dict(loss=self.net(x).sum())

    with torch.no_grad():
        model[1][1].weight[0, 0] = math.inf
    layer, losses = first_bad_layer(Losses(), (torch.ones(3, 2), ), {})
    assert layer == 'net.1.1'
    assert bad_losses(losses) == ['loss']
    assert bad_losses(dict(loss=torch.tensor(math.inf),
                           loss_b=torch.tensor(-math.inf),
                           loss_a=torch.tensor(1.))) == ['loss_b', 'loss']


def test_the_teacher_is_watched_too():

    class Pupil(nn.Module):
        teacher = nn.ModuleDict(dict(deep=nn.Linear(2, 2)))

        def forward(self, x):
            return dict(loss=self.teacher['deep'](x).mean())

    nn.init.constant_(Pupil.teacher['deep'].bias, math.nan)
    name, losses = first_bad_layer(Pupil(), (torch.ones(1, 2), ), {})
    assert name == 'teacher.deep'
    assert losses['loss'].isnan()


def test_reading_the_loss_warns_of_nothing(recwarn):
    loss = torch.ones((), requires_grad=True) * 2
    torch.set_warn_always(True)
    try:
        FiniteGuardHook().after_train_iter(None, 0, outputs=dict(loss=loss))
    finally:
        torch.set_warn_always(False)
    assert not recwarn.list
