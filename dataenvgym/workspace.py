"""A workspace: the folder of one run, one evaluation or one study.

One process at a time writes it: it is locked first (`locked`), then cleaned of what kills have
left, and only then changed (`opened`). `find` is how a command gets it by path or by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dataenvgym.errors import RunDirectoryError, did_you_mean
from dataenvgym.format_version import check_format
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
    """Lock a folder, which is made if need be, and clear it of what kills have left.

    Args:
        fresh: remove what is in the folder. It vanishes at once, so that a kill leaves no half of
            it.
        recognize: raises if the folder is not one of ours; asked before anything is removed.
        check: raises if the folder cannot be continued.
        below: clear its subfolders too; not where these are workspaces with locks of their own.

    Raises:
        RunDirectoryError: if another process writes it; nothing in the folder has changed then.
    """
    with ExitStack() as stack:
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


def find(
    kind: str, name: str, folder: str | Path, *, recognize: Callable[[Path], object], option: str
) -> Path:
    """The workspace with that path, or with that name in `folder`.

    Args:
        kind: "run" or "evaluation".
        recognize: raises RunDirectoryError if a folder is not a workspace of this kind.
        option: the option that names another `folder`.

    Raises:
        RunDirectoryError: if there is none, with the closest name that there is.
        NewerFormatError: if a newer dataenvgym has written it.
    """
    for directory in (Path(name).expanduser(), Path(folder) / name):
        if directory.is_dir():
            recognize(directory)
            check_format(directory)
            return directory
    names = [path.name for path in sorted(Path(folder).glob("*")) if _is_one(path, recognize)]
    number = f"1 {kind}" if len(names) == 1 else f"{len(names)} {kind}s"
    there = f"{folder} holds {number}" if names else f"there are no {kind}s in {folder}"
    raise RunDirectoryError(
        f"there is no {kind} {name!r}.{did_you_mean(name, names)} ({there}; {option} names "
        "another folder)"
    )


def _is_one(path: Path, recognize: Callable[[Path], object]) -> bool:
    try:
        recognize(path)
    except RunDirectoryError:
        return False
    return True


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
