"""What a sweep file may hold, and what is said of a wrong one."""
import pytest

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.sweep.sweep_file import read_sweep


@pytest.fixture
def sweep_file(tmp_path):
    """Write a sweep file beside two configs."""
    for name in ('a', 'b'):
        (tmp_path / f'{name}.py').write_text('')

    def write(text):
        path = tmp_path / 'mine.py'
        path.write_text(text)
        return path

    return write


def test_defaults(sweep_file, tmp_path):
    sweep = read_sweep(sweep_file("methods = dict(a='a.py')"))
    assert [m.name for m in sweep.methods] == ['a']
    assert sweep.methods[0].config == str(tmp_path / 'a.py')
    assert (sweep.scenarios, sweep.seeds, sweep.select) == (({}, ), (0, ),
                                                            None)
    assert (sweep.cpus, sweep.gpus, sweep.retries) == (1, 0, 2)
    assert sweep.work_dir == 'work_dirs/sweeps/mine'


def test_everything(sweep_file):
    sweep = read_sweep(sweep_file('''
_mine = [1, 2]
methods = dict(
    a='a.py',
    b=dict(config='b.py', grid={'x.y': _mine, 'z': [3]},
           cfg_options={'n': 2}, step_0='a'))
grid = {'z': [1, 2, 3]}
cfg_options = {'n': 1, 'm': 1}
scenarios = ['15-1', dict(name='10-1', setting='disjoint')]
seeds = [3, 4]
select = 'held-out mIoU'
resources = dict(cpus=4, gpus=0.5)
retries = 0
work_dir = 'there'
'''))
    a, b = sweep.methods
    assert a.grid == {'z': [1, 2, 3]}
    assert b.grid == {'z': [3], 'x.y': [1, 2]}
    assert (a.options, b.options) == (dict(n=1, m=1), dict(n=2, m=1))
    assert (a.step_0, b.step_0) == (None, 'a')
    assert sweep.scenarios == (
        dict(name='15-1'), dict(name='10-1', setting='disjoint'))
    assert (sweep.seeds, sweep.cpus, sweep.gpus) == ((3, 4), 4, 0.5)
    assert (sweep.retries, sweep.work_dir) == (0, 'there')


METHODS = "methods = dict(a='a.py')\n"


@pytest.mark.parametrize('text, message', [
    ('', 'has no methods'),
    (METHODS + 'sede = [1]', "Unknown name 'sede'.*did you mean 'seeds'"),
    ("methods = dict(a=dict(config='a.py', gird={}))",
     "Unknown name 'gird' in methods.a.*'grid'"),
    ("methods = dict(a='c.py')", 'no config at .*c.py'),
    ("methods = dict(a=3)", 'methods.a has no config'),
    (METHODS + "resources = dict(cpu=1)", "'cpu' in resources.*'cpus'"),
    (METHODS + "resources = dict(cpus=0)", 'resources.cpus is 0'),
    (METHODS + "resources = 3", 'resources is 3: give a dict'),
    (METHODS + "seeds = ['x']", "seeds holds 'x'"),
    (METHODS + "retries = -1", 'retries is -1'),
    (METHODS + "scenarios = [15]", 'scenarios holds 15'),
    (METHODS + "select = 'mIoU'", "select is 'mIoU'.*Test scores select no"),
    (METHODS + "grid = {'x': [1, 2]}", 'needs a score that chooses'),
    (METHODS + "grid = {'x': 3}", "list of values for 'x', not 3"),
    (METHODS + "grid = {'randomness.seed': [1]}", 'use seeds for that'),
    (METHODS + "grid = {'scenario.name': ['x']}", 'use scenarios for that'),
    ("methods = dict(a=dict(config='a.py', step_0='c'))",
     "methods.a.step_0 is 'c'"),
    ("methods = dict(a=dict(config=3))", 'methods.a has no config: give its'),
    ("methods = {3: 'a.py'}", 'methods holds the name 3: give a text'),
    ("methods = {'': 'a.py'}", "methods holds the name '': give a text"),
    (METHODS + 'seeds = 3', r'seeds is 3: give a list, such as \[0, 1\]'),
    (METHODS + "seeds = '012'", "seeds is '012': give a list"),
    (METHODS + 'seeds = {0: 1}', 'seeds is {0: 1}: give a list'),
    (METHODS + 'seeds = [True]', 'seeds holds True: give whole numbers'),
    (METHODS + 'seeds = [10**12]', 'seeds holds 1000000000000: give whole'),
    (METHODS + 'scenarios = 3', r"scenarios is 3: give a list, such as"),
    (METHODS + "scenarios = '15-1'", "scenarios is '15-1': give a list"),
    (METHODS + "scenarios = dict(name='15-1')", 'scenarios is .*give a list'),
    (METHODS + "grid = {3: [1]}", 'grid holds the name 3: give a text'),
    (METHODS + "cfg_options = {3: 1}", 'cfg_options holds the name 3: give'),
    (METHODS + "cfg_options = {'randomness.seed': 7}",
     "cfg_options sets 'randomness.seed': use seeds for that"),
    (METHODS + "cfg_options = {'work_dir': 'x'}",
     "cfg_options sets 'work_dir': use work_dir of the sweep for that"),
    (METHODS + 'work_dir = 3', 'work_dir is 3: give a path'),
    (METHODS + "resources = dict(cpus=float('nan'))", 'cpus is nan: give a'),
    (METHODS + "resources = dict(cpus=True)", 'cpus is True: give a number'),
    (METHODS + "resources = dict(gpus=float('inf'))", 'gpus is inf: give'),
    (METHODS + 'resources = dict(gpus=1.5)',
     'gpus is 1.5: give a share below 1, or a whole number'),
    (METHODS + 'retries = True', 'retries is True: give a whole number'),
    ('methods = dict(', 'cannot be read'),
    ('raise OSError("no")', 'cannot be read'),
    (METHODS + 'paper = 3', 'paper is 3: give a dict'),
    (METHODS + "paper = dict(score={})",
     "Unknown name 'score' in paper.*'scores'"),
    (METHODS + "paper = dict(scores=dict(b={}))",
     r"paper.scores holds 'b': give the name of a method here \(a\)"),
    (METHODS + "paper = dict(scores=dict(a=dict(apa='51.3')))",
     "paper.scores.a.apa is '51.3': give a number, or "),
    (METHODS + "paper = dict(scores=dict(a=dict(apa=[1, 2, 3])))",
     'paper.scores.a.apa is .*give a number, or '),
    (METHODS + 'scales = dict(small=3)', 'small is 3: give a dict'),
    (METHODS + 'scales = dict(small=dict(seed=[1]))',
     "Unknown name 'seed' in scales.small .did you mean 'seeds'"),
    (METHODS + 'scales = dict(small=dict(scales={}))',
     "Unknown name 'scales' in scales.small"),
])
def test_mistakes(sweep_file, text, message):
    with pytest.raises(ConfigError, match=message):
        read_sweep(sweep_file(text))


SCALED = '''
methods = dict(a='a.py', b=dict(config='b.py', grid={'x.y': [1]}))
cfg_options = {'n.m': 1, 'o': 1}
seeds = [0, 1]
paper = dict(title='T', scores=dict(a=dict(apa=(51.3, 1.9), ps=0.29)))
scales = dict(small=dict(
    methods=dict(b=dict(grid={'x.y': [1, 2]}), c='a.py'),
    cfg_options={'n.m': 2}, seeds=[0], select='held-out accuracy'))
'''


def test_a_scale_changes_what_it_names(sweep_file):
    path = sweep_file(SCALED)
    sweep = read_sweep(path, 'small')
    assert [m.name for m in sweep.methods] == ['a', 'b', 'c']
    assert [m.config[-4:] for m in sweep.methods] == ['a.py', 'b.py', 'a.py']
    assert sweep.methods[1].grid == {'x.y': [1, 2]}
    assert sweep.methods[0].options == {'n.m': 2, 'o': 1}
    assert sweep.seeds == (0, )
    assert sweep.name == 'mine-small'
    assert sweep.work_dir == 'work_dirs/sweeps/mine-small'
    assert sweep.paper == read_sweep(path).paper
    assert sweep.paper['scores']['a'] == dict(apa=(51.3, 1.9), ps=0.29)


def test_without_a_scale_the_sweep_is_as_it_stands(sweep_file):
    sweep = read_sweep(sweep_file(SCALED))
    assert [m.name for m in sweep.methods] == ['a', 'b']
    assert (sweep.name, sweep.seeds, sweep.select) == ('mine', (0, 1), None)


def test_a_scale_leaves_out_what_it_sets_to_none(sweep_file):
    path = sweep_file(SCALED + "scales['one'] = dict(\n"
                      '    methods=dict(b=None), paper=None)\n')
    sweep = read_sweep(path, 'one')
    assert [m.name for m in sweep.methods] == ['a'] and sweep.paper == {}


def test_an_unknown_scale_is_told_with_those_there_are(sweep_file):
    with pytest.raises(ConfigError, match="no scale 'tiny': it has 'small'"):
        read_sweep(sweep_file(SCALED), 'tiny')
    with pytest.raises(ConfigError, match="no scale 'tiny': it has none"):
        read_sweep(sweep_file(METHODS), 'tiny')


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match='There is no config at .*x.py'):
        read_sweep(tmp_path / 'x.py')


def test_configs_of_the_package_are_named_as_bases_are(sweep_file):
    leaf = 'classification/ewc/ewc_mlp_permuted-digits.py'
    sweep = read_sweep(sweep_file(f"methods = dict(a='mmseg_spwc::{leaf}')"))
    assert sweep.methods[0].config.endswith(leaf)
    example = read_sweep('mmseg_spwc::sweeps/digits.py')
    assert example.name == 'digits' and len(example.methods) == 3
