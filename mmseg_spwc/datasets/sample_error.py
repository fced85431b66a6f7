"""Says which files a sample was to be made of when that fails."""
import contextlib
from collections.abc import Iterator, Mapping

from mmseg_spwc.errors import SampleError


@contextlib.contextmanager
def naming_files(info: Mapping) -> Iterator[None]:
    """Turn what goes wrong in a block into :class:`SampleError`.

    Args:
        info (Mapping): What the data set knows of the sample, such as
            ``img_path`` and ``seg_map_path``.
    """
    try:
        yield
    except Exception as error:  # transforms raise of every kind
        files = [str(info[key]) for key in ('img_path', 'seg_map_path')
                 if info.get(key)]
        raise SampleError(
            f'The sample of {" and ".join(files)} cannot be made '
            f'({type(error).__name__}: {error}): restore its files or mend '
            'the pipeline.') from error
