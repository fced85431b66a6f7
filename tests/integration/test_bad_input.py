"""Wrong inputs, and the one sentence that each of them gets."""
import copy
import functools
import logging
import re

import pytest
from digit_runs import digits, train
from mmengine.config import Config
from wrong_commands import COMMANDS, ENVIRONMENTS
from wrong_configs import CONFIGS
from wrong_data import CLASSIFICATION, SEGMENTATION
from wrong_files import CHECKPOINTS, RECORDS
from wrong_inputs import Case, untouched
from wrong_options import OPTIONS
from wrong_scenarios import SCENARIOS
from wrong_values import CALLS, SCORES

from mmseg_spwc.errors import StackError

ROWS = [*CONFIGS, *SCENARIOS, *SEGMENTATION, *CLASSIFICATION, *CHECKPOINTS,
        *RECORDS, *COMMANDS, *OPTIONS, *ENVIRONMENTS, *SCORES, *CALLS]
# ConfigError, CheckpointError and RecordError are ValueErrors
USER_ERRORS = (ValueError, TypeError, KeyError, FileNotFoundError,
               StackError)


@pytest.fixture(scope='module')
def small_shapes(tmp_path_factory):
    from mmseg_spwc.datasets.shapes import generate_shapes
    root = tmp_path_factory.mktemp('data') / 'shapes'
    generate_shapes(root, num_train=16, num_val=4, size=32, seed=0)
    return root


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp('finished') / 'run'
    train(digits(folder, **{'scenario.name': '2', 'train_cfg.max_epochs': 1}))
    return folder


@pytest.fixture(autouse=True, scope='module')
def configs_read_once():
    """Reading a config takes longer than finding what is wrong in it."""
    read = functools.cache(Config.fromfile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Config, 'fromfile',
                      lambda path: copy.deepcopy(read(str(path))))
        yield


@pytest.fixture
def case(tmp_path, small_shapes, finished, monkeypatch):
    # loggers of earlier rows hold streams that pytest has closed
    monkeypatch.setattr(logging, 'raiseExceptions', False)
    return Case(tmp_path, small_shapes, finished, monkeypatch)


def sentence(error: BaseException, capsys) -> str:
    """What the user reads; a command line exits with 2, and says it."""
    shown = capsys.readouterr().err
    if not isinstance(error, SystemExit):
        return str(error)
    assert error.code == 2, shown
    assert 'Traceback' not in shown
    return shown


def test_the_table_is_long_and_has_no_name_twice():
    assert len(ROWS) >= 180
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row.name)
def test_wrong_input_gets_a_sentence(row, case, capsys):
    with untouched(case.finished), \
            pytest.raises((*USER_ERRORS, SystemExit)) as caught:
        row.make(case)
    said = sentence(caught.value, capsys)
    for pattern in row.says:
        assert re.search(pattern, said, re.DOTALL), said
    assert not (case.folder / 'executed').exists()
    assert not (case.folder / 'run' / 'run.lock').exists()
