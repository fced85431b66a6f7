"""Runs something in several processes that talk over gloo."""
import multiprocessing
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import torch


def on_ranks(folder: Path, action: Callable, argument: object,
             count: int = 2, seconds: float = 240) -> list[str]:
    """Call ``action(argument)`` in forks of this process.

    Args:
        folder (Path): Where they meet; made here.
        action (Callable): What every rank does.
        argument (object): Its argument.
        count (int): Number of ranks. Defaults to 2.
        seconds (float): How long to wait for them. Defaults to 240.

    Returns:
        list[str]: By rank, ``'done'`` or the traceback it ended with.
    """
    folder.mkdir(parents=True)
    context = multiprocessing.get_context('fork')
    ranks = [
        context.Process(
            target=_enter, args=(rank, count, folder, action, argument))
        for rank in range(count)
    ]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(seconds)
        if process.is_alive():
            process.kill()
    return [_read(folder / f'rank_{rank}') for rank in range(count)]


def _enter(rank: int, count: int, folder: Path, action: Callable,
           argument: object) -> None:
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count))
    torch.distributed.init_process_group(
        'gloo', init_method=f'file://{folder}/meet', rank=rank,
        world_size=count)
    try:
        action(argument)
        (folder / f'rank_{rank}').write_text('done')
    except BaseException:
        (folder / f'rank_{rank}').write_text(traceback.format_exc())
    torch.distributed.destroy_process_group()


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else 'killed'
