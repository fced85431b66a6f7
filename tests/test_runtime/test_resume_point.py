"""A damaged checkpoint is found, and the one before it goes on."""
import errno
import logging
import multiprocessing
import os
import pickle
import resource
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_runs import At, toy_runner, weights

from mmseg_spwc.errors import (
    NO_ROOM,
    CheckpointError,
    StorageError,
    user_errors,
)
from mmseg_spwc.runtime.checkpoint import Stamp, load_plain, save_step
from mmseg_spwc.runtime.resume_point import (
    check_intact,
    check_plain,
    find_resume_point,
)


def content(iteration=3):
    return dict(
        meta=dict(epoch=1, iter=iteration, text='x' * 50),
        state_dict=dict(w=torch.arange(200.)),
        optimizer=dict(state={0: dict(m=torch.ones(30))}, lr=0.1))


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


@pytest.fixture(scope='module')
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp('good') / 'epoch_1.pth'
    torch.save(content(), path)
    return path.read_bytes()


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_a_flipped_bit_is_found_or_harmless(good, tmp_path_factory, data):
    at = data.draw(st.integers(0, 8 * len(good) - 1))
    broken = bytearray(good)
    broken[at // 8] ^= 1 << at % 8
    path = tmp_path_factory.getbasetemp() / 'flipped.pth'
    path.write_bytes(broken)
    try:
        check_intact(path)
        loaded = load_plain(str(path))
    except CheckpointError:
        return
    assert same(loaded, content())  # a time stamp or padding of the archive


def test_most_of_the_file_is_covered(good, tmp_path):
    start = good.index(torch.arange(200.).numpy().tobytes())
    for at in range(start, start + 800, 97):
        broken = bytearray(good)
        broken[at] ^= 4
        (tmp_path / 'x.pth').write_bytes(broken)
        torch.load(tmp_path / 'x.pth', weights_only=True)  # torch is content
        with pytest.raises(CheckpointError, match='checksum'):
            check_intact(tmp_path / 'x.pth')


@settings(deadline=None, max_examples=50)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_found(good, tmp_path_factory, share):
    path = tmp_path_factory.getbasetemp() / 'short.pth'
    path.write_bytes(good[:int(share * len(good))])
    with pytest.raises(CheckpointError):
        check_intact(path)


@pytest.fixture
def warnings(monkeypatch):
    said = []
    monkeypatch.setattr(
        'mmseg_spwc.runtime.resume_point.warn',
        lambda text: said.append((30, text)))
    return said


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_the_newest_intact_one_is_chosen(tmp_path, warnings):
    assert find_resume_point(tmp_path / 'nothing') is None
    for number in (2, 9, 10):
        torch.save(content(number), tmp_path / f'epoch_{number}.pth')
    torch.save(content(11), tmp_path / 'iter_11.pth')
    assert find_resume_point(tmp_path) == f'{tmp_path}/iter_11.pth'
    assert warnings == []
    for name, before in (('iter_11', 'epoch_10'), ('epoch_10', 'epoch_9')):
        damage(tmp_path / f'{name}.pth')
        chosen = find_resume_point(tmp_path)
        assert chosen == f'{tmp_path}/{before}.pth'
        assert [w for w in warnings if name in w[1]]
    for path in tmp_path.glob('*.pth'):
        path.write_bytes(b'')
    warnings.clear()
    assert find_resume_point(tmp_path) is None
    level, text = warnings[-1]
    assert level == logging.WARNING and 'starts from its beginning' in text
    assert len(list(tmp_path.iterdir())) == 4  # nothing was deleted


def test_a_folder_of_its_own_is_found_by_the_pointer(tmp_path):
    other = tmp_path / 'elsewhere'
    other.mkdir()
    torch.save(content(), other / 'epoch_1.pth')
    (tmp_path / 'last_checkpoint').write_text(f'{other}/epoch_1.pth')
    assert find_resume_point(tmp_path).endswith('elsewhere/epoch_1.pth')


class Bomb:

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target, )


def test_no_code_in_a_checkpoint_is_run(tmp_path, monkeypatch, warnings):
    mark = tmp_path / 'executed'
    path = tmp_path / 'epoch_1.pth'
    torch.save(dict(content(), bomb=Bomb(mark)), path)
    monkeypatch.setenv('TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD', '1')
    assert find_resume_point(tmp_path) is None
    with pytest.raises(CheckpointError, match='add_safe_globals'):
        check_plain(path)
    with pytest.raises(CheckpointError, match='may run code'):
        load_plain(str(path))
    path.write_bytes(pickle.dumps(Bomb(mark)))  # not even an archive
    assert find_resume_point(tmp_path) is None
    assert not mark.exists()
    pickle.loads(path.read_bytes())
    assert mark.exists()  # it was a real one


def test_a_run_goes_on_from_the_one_before(tmp_path):
    whole = toy_runner(tmp_path / 'whole', interval=1)
    whole.train()
    broken = tmp_path / 'broken'
    toy_runner(broken, interval=1, length=2).train()
    damage(broken / 'epoch_2.pth')
    again = toy_runner(broken, interval=1)
    again.train()
    assert torch.equal(weights(whole), weights(again))


def test_objects_are_refused_when_they_are_written(tmp_path):

    def spoil(runner):
        runner.message_hub.update_info('text', 'fine')
        runner.optim_wrapper.optimizer.param_groups[0]['mine'] = Bomb(tmp_path)

    runner = toy_runner(tmp_path, hooks=[At(0, spoil)], interval=1)
    with pytest.raises(CheckpointError, match='plain values'):
        runner.train()


def files(folder):
    return sorted(p.name for p in folder.iterdir()
                  if p.suffix == '.pth' or p.name.startswith('.'))


def test_old_ones_go_after_the_new_one_is_there(tmp_path, monkeypatch):
    runner = toy_runner(tmp_path, interval=1, max_keep_ckpts=1)
    seen = []
    save = runner.save_checkpoint
    monkeypatch.setattr(runner, 'save_checkpoint', lambda *a, **k: (
        save(*a, **k), seen.append(files(tmp_path))))
    runner.train()
    assert seen == [['epoch_1.pth']] + [
        [f'epoch_{i}.pth', f'epoch_{i + 1}.pth'] for i in (1, 2, 3)]
    assert files(tmp_path) == ['epoch_4.pth']
    assert (tmp_path / 'last_checkpoint').read_text() == \
        str(tmp_path / 'epoch_4.pth')


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    write = Path.write_bytes

    def no_room(path, data):
        if 'epoch_2' in path.name:
            write(path, data[:1000])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, data)

    monkeypatch.setattr(Path, 'write_bytes', no_room)
    with pytest.raises(StorageError, match='No space left.*--resume'):
        toy_runner(tmp_path, interval=1, max_keep_ckpts=1).train()
    assert files(tmp_path) == ['epoch_1.pth']
    monkeypatch.undo()
    again = toy_runner(tmp_path, interval=1)
    again.train()
    whole = toy_runner(tmp_path / 'whole')
    whole.train()
    assert torch.equal(weights(whole), weights(again))


def test_a_full_disk_is_one_sentence(capsys):
    with pytest.raises(SystemExit) as stop, user_errors(), \
            open('/dev/full', 'wb') as file:
        torch.save(content(), file)
    assert stop.value.code == StorageError.exit_code
    said, = capsys.readouterr().err.strip().splitlines()
    assert said.startswith('error: Cannot write')
    assert 'No space left' in said and '--resume' in said
    with pytest.raises(PermissionError), user_errors():
        raise PermissionError(errno.EACCES, 'not about room')


def write_too_much(path, code):
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    stamp = Stamp('hash', 'base', 0, [1], 'Finetune')
    try:
        save_step(path, dict(w=torch.zeros(50_000)), stamp, {})
    except OSError as error:
        code.value = error.errno


def test_the_kernel_refuses_a_large_file(tmp_path):
    """In a process of its own, as the limit cannot be taken back."""
    context = multiprocessing.get_context('fork')
    code = context.Value('i', 0)
    child = context.Process(
        target=write_too_much, args=(tmp_path / 'final.pth', code))
    child.start()
    child.join(60)
    assert code.value == errno.EFBIG and errno.EFBIG in NO_ROOM
    assert os.listdir(tmp_path) == []


def test_random_states_are_those_of_the_checkpoint(tmp_path):
    """Also where ``save_begin`` moves it away from multiples of interval."""
    options = dict(loop='iteration', interval=4, save_begin=2)

    def fail(runner):
        raise InterruptedError

    whole = toy_runner(tmp_path / 'whole', **options)
    whole.train()
    with pytest.raises(InterruptedError):
        toy_runner(tmp_path / 'cut', hooks=[At(8, fail)], **options).train()
    assert find_resume_point(tmp_path / 'cut').endswith('iter_6.pth')
    again = toy_runner(tmp_path / 'cut', **options)
    again.train()
    assert torch.equal(weights(whole), weights(again))


@pytest.mark.parametrize('number, kind', [
    (errno.ENOSPC, StorageError), (errno.EACCES, PermissionError)])
def test_a_full_disk_is_told_from_other_mishaps(tmp_path, monkeypatch, number,
                                                kind):
    runner = toy_runner(tmp_path, length=2)

    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number), 'epoch_2.pth')

    monkeypatch.setattr(runner, 'save_checkpoint', fail)
    with pytest.raises(kind):
        runner.train()
