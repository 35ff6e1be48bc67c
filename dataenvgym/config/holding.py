"""A folder that one process at a time writes: locked first, then cleaned, and only then changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dataenvgym.errors import RunDirectoryError
from dataenvgym.storage import is_empty, remove_folder, remove_leftover, remove_temporaries


@contextmanager
def held(
    directory: Path, *, fresh: bool, refuse_strange: Callable[[], object], check: Callable[[], None]
) -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be, and clear it of what kills have left.

    Args:
        fresh: remove what is in the folder. It vanishes at once, so that a kill leaves no half of
            it.
        refuse_strange: raises if a folder with something in it is not one of ours; asked before
            anything is removed.
        check: raises if the folder cannot be gone on with.

    Raises:
        RunDirectoryError: if another process is at it; nothing in the folder has changed then.
    """
    with ExitStack() as stack:
        directory.mkdir(parents=True, exist_ok=True)
        stack.enter_context(locked(directory))
        if fresh and not is_empty(directory):
            refuse_strange()
            remove_folder(directory)
            directory.mkdir()
            stack.enter_context(locked(directory))
        check()
        remove_leftover(directory)
        remove_temporaries(directory)
        yield


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from writing the folder meanwhile.

    Raises:
        RunDirectoryError: if another process is at it.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(directory) from None
        if not _is_still(directory, descriptor):  # another process has just replaced the folder
            raise _busy(directory)
        yield
    finally:
        os.close(descriptor)


def _is_still(directory: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), directory.stat())
    except FileNotFoundError:
        return False


def _busy(directory: Path) -> RunDirectoryError:
    return RunDirectoryError(
        f"another process is writing {directory.name!r}; wait for it, or choose another "
        "name (name=...)"
    )
