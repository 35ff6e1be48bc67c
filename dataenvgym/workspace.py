"""A workspace: the folder of one run, one evaluation or one study.

One process at a time writes it: it is locked first (`locked`), then cleaned of what kills have
left, and only then changed (`opened`). A damaged file in it is refused by its name
(`naming_damage`), and an interrupt notes the folder (`noting_interrupt`). Those with a
`config.yaml` are in `config.workspaces`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dataenvgym.errors import BrokenFileError, RunDirectoryError
from dataenvgym.storage import is_empty, remove_folder, remove_leftover, remove_temporaries

Check = Callable[[], object]
"""Raises if there is something to refuse."""


@contextmanager
def opened(
    directory: Path,
    *,
    fresh: bool = False,
    recognize: Check = lambda: None,
    check: Check = lambda: None,
    below: bool = True,
) -> Iterator[None]:
    """Lock a folder, which is made if need be, and remove leftovers of killed processes.

    Args:
        fresh: remove what is in the folder. It vanishes at once, so that a kill leaves no half of
            it.
        recognize: raises if the folder is not one of ours; asked before anything is removed.
        check: raises if the folder cannot be continued.
        below: clear its subfolders too; not where these are workspaces with locks of their own.

    Raises:
        RunDirectoryError: if another process writes it; nothing in the folder has changed then.
    """
    with noting_interrupt(directory), ExitStack() as stack:
        directory.mkdir(parents=True, exist_ok=True)
        stack.enter_context(locked(directory))
        if fresh and not is_empty(directory):
            recognize()
            remove_folder(directory)
            directory.mkdir()
            stack.enter_context(locked(directory))
        check()
        remove_leftover(directory)
        remove_temporaries(directory, below=below)
        yield


@contextmanager
def noting_interrupt(directory: Path) -> Iterator[None]:
    """Add the folder to an interrupt as a note (PEP 678), if it has been made by then.

    The last note is that of the outermost workspace, which the interrupted command continues.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if directory.is_dir():
            interrupt.add_note(str(directory))
        raise


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from writing the folder meanwhile.

    Raises:
        RunDirectoryError: if another process writes it.
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


@contextmanager
def naming_damage(
    path: Path, way_out: str = "restore it, or start the run afresh"
) -> Iterator[None]:
    """Name the file, and say what to do, if what the block reads in it is not what it should be.

    Raises:
        RunDirectoryError: in place of any ValueError, which broken JSON and models raise.
    """
    try:
        yield
    except BrokenFileError as error:  # which names the file, and the line
        raise RunDirectoryError(f"{error}; {way_out}") from error
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise RunDirectoryError(f"{path} is damaged ({reason}); {way_out}") from error


def _is_still(directory: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), directory.stat())
    except FileNotFoundError:
        return False


def _busy(directory: Path) -> RunDirectoryError:
    return RunDirectoryError(
        f"another process is writing {directory.name!r}; wait for it, or choose another "
        "name (name=..., --name)"
    )
