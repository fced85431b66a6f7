"""Ways in which a run ends early, each with an exit code of its own."""
import errno

# what a full or read-only disk, a used-up quota or a size limit report
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


class RunStopped(RuntimeError):
    """A run ended before its time; the message says why and what to do."""

    exit_code = 1


class StorageError(RunStopped):
    """A file could not be written; those written before are intact."""

    exit_code = 2

    @classmethod
    def of(cls, error: OSError) -> 'StorageError':
        place = error.filename or 'a file of the run'
        return cls(
            f'Cannot write {place}: {error.strerror}. Make room and go on '
            'with --resume; finished steps and the last checkpoint are '
            'intact.')


class NonFiniteError(RunStopped):
    """A loss or gradient is NaN or infinite."""

    exit_code = 3


class Disagreement(RunStopped):
    """Processes that must hold the same values hold different ones."""

    exit_code = 4


class Preempted(RunStopped):
    """The run was asked to stop; it can be resumed (EX_TEMPFAIL)."""

    exit_code = 75
