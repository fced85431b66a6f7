"""Typos at our level are found before anything runs."""
import pytest
from mmengine.config import Config

from mmseg_spwc.config.keys import check_keys
from mmseg_spwc.errors import ConfigError


def good() -> dict:
    return dict(
        scenario={}, method=dict(name='x'), model={1: 1},
        train_dataloader={1: 1}, test_dataloader={1: 1}, train_cfg={1: 1},
        optim_wrapper={1: 1}, crop_pad=3)


def test_free_names_at_the_top_are_allowed():
    check_keys(dict(good(), norm_cfg=1, my_pipeline=[]))


@pytest.mark.parametrize('change, message', [
    (dict(scenario=None), "no 'scenario'"),
    (dict(method=dict(name='x', frist={})), "did you mean 'first'"),
    (dict(method=dict(name='x', restrat=True)), "did you mean 'restart'"),
    (dict(method=dict(restart=True)), 'no name'),
    (dict(schedule=dict(latr={})), "did you mean 'later'"),
    (dict(schedule=dict(by_scenaro={})), "did you mean 'by_scenario'"),
    (dict(schedule=dict(by_scenario={'voc': {}})), 'no longer a table of'),
    (dict(schedule=dict(later=dict(a=dict(by_scenario={'voc 15-2': 1})))),
     '15-2'),
    (dict(heldout=dict(ration=0.1)), "did you mean 'ratio'"),
    (dict(total_batchsize=8), "did you mean 'total_batch_size'"),
    (dict(self_pased={}), "did you mean 'self_paced'"),
    (dict(backbone_weight='x'), "did you mean 'backbone_weights'"),
])
def test_typos_are_named(change, message):
    with pytest.raises(ConfigError, match=message):
        check_keys({**good(), **change})


def test_misspelt_required_key_is_suggested():
    cfg = good()
    cfg['scenarios'] = cfg.pop('scenario')
    with pytest.raises(ConfigError, match="is 'scenarios' a typo"):
        check_keys(cfg)


def test_single_steps_may_be_addressed():
    check_keys(dict(good(), schedule=dict(step_3={})))


def test_a_base_of_another_package_leaves_its_scope(tmp_path):
    """MMEngine notes it in every part with a type."""
    path = tmp_path / 'config.py'
    path.write_text("_base_ = 'mmseg::_base_/schedules/schedule_20k.py'")
    cfg = Config.fromfile(path)
    assert cfg.train_cfg['_scope_'] == 'mmseg'
    check_keys(dict(good(), train_cfg=cfg.train_cfg,
                    optim_wrapper=cfg.optim_wrapper))
