"""Freed memory is reused, and what nobody owns is found."""
import ctypes
import gc
import platform
import resource
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mmseg_spwc.runtime.memory import free_memory, frozen_heap, keep_memory


def test_peaks_on_a_gpu_are_counted_anew(monkeypatch):
    called = []
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: True)
    for name in ('empty_cache', 'reset_peak_memory_stats'):
        monkeypatch.setattr(torch.cuda, name,
                            lambda name=name: called.append(name))
    free_memory()
    assert called == ['empty_cache', 'reset_peak_memory_stats']


class Cycle:

    def __init__(self):
        self.itself = self


def test_only_what_a_sequence_makes_is_looked_through():
    old = Cycle()
    with frozen_heap():
        assert gc.get_freeze_count() > 1000
        new = weakref.ref(Cycle())
        free_memory()
        assert new() is None  # a finished step's rubbish is found
    assert gc.get_freeze_count() == 0
    old = weakref.ref(old)
    free_memory()
    assert old() is None


@pytest.fixture
def own_choice(monkeypatch):
    """An environment that leaves the choice to us."""
    for name in ('MALLOC_TRIM_THRESHOLD_', 'MALLOC_MMAP_THRESHOLD_'):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
def test_freed_memory_waits_for_the_next_iteration(own_choice):
    def new_pages():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        blocks = [np.ones(size << 20, np.uint8) for size in (1, 3, 20, 50)]
        del blocks
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    keep_memory()
    new_pages()
    # 74 MB are 19 000 pages
    assert new_pages() < 500


@pytest.mark.parametrize('name', [
    'MALLOC_TRIM_THRESHOLD_', 'MALLOC_MMAP_THRESHOLD_'])
def test_memory_is_given_back_as_the_environment_says(
        own_choice, monkeypatch, name):
    asked = []
    monkeypatch.setattr(ctypes, 'CDLL', lambda name: SimpleNamespace(
        mallopt=lambda *option: asked.append(option)))
    keep_memory()
    assert len(asked) == 2
    monkeypatch.setenv(name, '131072')
    keep_memory()
    assert len(asked) == 2


def test_memory_is_left_to_another_c_library(own_choice, monkeypatch):
    monkeypatch.setattr(ctypes, 'CDLL', lambda name: SimpleNamespace())
    keep_memory()
