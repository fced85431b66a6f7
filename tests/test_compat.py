"""The stack is checked, mended and otherwise left alone."""
import importlib.metadata
import subprocess
import sys

import pytest

from mmseg_spwc import compat


def fake_versions(monkeypatch, **versions):
    real = importlib.metadata.version

    def version(name):
        if name in versions:
            if versions[name] is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return versions[name]
        return real(name)

    monkeypatch.setattr(compat.importlib.metadata, 'version', version)


def test_missing_package_says_how_to_install_it(monkeypatch):
    fake_versions(monkeypatch, **{'mmsegmentation': None,
                                  'onedl-mmsegmentation': None})
    with pytest.raises(compat.StackError) as caught:
        compat.check_stack()
    assert "pip install 'mmsegmentation>=1.2.0,<2.0'" in str(caught.value)


def test_either_mmcv_will_do(monkeypatch):
    fake_versions(monkeypatch, **{'mmcv-lite': None, 'mmcv': '2.1.0'})
    compat.check_stack()


def test_unsupported_version_is_named(monkeypatch):
    fake_versions(monkeypatch, **{'mmcv-lite': None, 'mmcv': '2.2.0'})
    with pytest.raises(compat.StackError, match='2.2.0 is installed'):
        compat.check_stack()


CONTINUATION = {
    'mmengine': None, 'mmcv': None, 'mmcv-lite': None, 'mmsegmentation': None,
    'onedl-mmengine': '0.10.12', 'onedl-mmcv': '2.3.6',
    'onedl-mmsegmentation': '1.4.2'}


def test_the_maintained_continuation_will_do(monkeypatch):
    fake_versions(monkeypatch, **CONTINUATION)
    compat.check_stack()
    fake_versions(monkeypatch, **{**CONTINUATION, 'onedl-mmcv': '2.4.1'})
    with pytest.raises(compat.StackError, match='onedl-mmcv>=2.3.0,<2.4.0'):
        compat.check_stack()


def test_configs_are_found_under_the_names_of_the_continuation(monkeypatch):
    from mmengine.config import Config, utils
    table = dict(utils.MODULE2PACKAGE)
    monkeypatch.setattr(utils, 'MODULE2PACKAGE', table)
    monkeypatch.setattr(Config, '_get_cfg_path', lambda *_: None)
    fake_versions(monkeypatch, **CONTINUATION)
    compat.offer_configs()
    assert table['mmseg'] == 'onedl-mmsegmentation'
    assert table['mmdet'] == 'mmdet'


def test_uncompiled_operator_raises_only_when_called():
    ops = compat._UncompiledOps('mmcv._ext')
    operator = ops.nms
    with pytest.raises(RuntimeError, match='mmcv.ops.nms'):
        operator(1, 2)


def test_full_mmcv_is_left_alone(monkeypatch):
    """With a compiled extension present the placeholder stays out."""
    monkeypatch.delitem(sys.modules, 'mmcv._ext', raising=False)
    monkeypatch.setattr(compat, '_has', lambda name: name == 'mmcv._ext')
    compat.stand_in_for_mmcv_ops()
    assert 'mmcv._ext' not in sys.modules


@pytest.mark.parametrize('first', [
    'mmseg_spwc.models',  # a room that needs the stack
    'mmengine, mmseg_spwc',  # as a config's custom_imports
])
def test_whole_stack_imports_in_a_fresh_process(first):
    code = (f'import {first}, mmseg.models, mmpretrain.models, torchvision;'
            'from mmengine.utils.dl_utils import collect_env; collect_env()')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr


def test_segmentation_half_does_not_import_mmpretrain():
    code = ('import sys, mmseg_spwc.compat, mmseg.datasets, mmseg.models;'
            'theirs = set(sys.modules);'
            'import mmseg_spwc.engine, mmseg_spwc.models,'
            'mmseg_spwc.datasets, mmseg_spwc.evaluation;'
            'assert not any(m.startswith("mmpretrain") '
            'for m in set(sys.modules) - theirs)')
    subprocess.run([sys.executable, '-c', code], check=True)
