"""A workspace: the folder of a run, an evaluation, a generation, a study, an adaptation, a server.

Only one process at a time writes to it: `opened` locks it first (`locked`), then removes leftovers
of killed processes, and only then lets it change. An interrupt names the folder
(`noting_interrupt`). `environment.json` has its identity: a folder with another identity is not
continued (`claim`). It also has the versions of the packages that affect results (with other ones
the folder is continued with a warning), and the number of the folder's format, which a study has in
`study.json`; those of another format are refused. Files are marked as they are written (see
`checksums`). `config.workspaces` has workspaces with a `config.yaml`.
"""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dataenvgym.errors import BrokenFileError, FormatError, RunDirectoryError
from dataenvgym.events import warn_run
from dataenvgym.storage import (
    hash_file,
    is_empty,
    read_json,
    read_model,
    remove_folder,
    remove_leftover,
    remove_temporaries,
    write_json,
)

FORMAT = 6
"""The format of the folders that this program writes; see docs/run_directory.md."""

PACKAGES = ("dataenvgym", "torch", "transformers", "peft", "tokenizers", "numpy")
"""Packages of this process whose versions affect results."""
GO_BACK = "go back to that, or start over"
"""What an error about another identity tells the user to do."""

Check = Callable[[], object]
"""Raises an error to refuse the folder."""


@contextmanager
def opened(
    directory: Path,
    *,
    fresh: bool = False,
    recognize: Check = lambda: None,
    check: Check = lambda: None,
    below: bool = True,
    wait: bool = False,
) -> Iterator[None]:
    """Create a folder if needed, lock it, and remove leftovers of killed processes.

    Args:
        fresh: remove the folder's contents first, atomically.
        recognize: raises if the folder is not one of ours; called before anything is removed.
        check: raises if the folder cannot be continued.
        below: also clean its subfolders; False if these are workspaces with their own locks.
        wait: wait until no other process writes to it.

    Raises:
        RunDirectoryError: if another process writes to it; the folder is unchanged then.
    """
    with noting_interrupt(directory), ExitStack() as stack:
        directory.mkdir(parents=True, exist_ok=True)
        stack.enter_context(locked(directory, wait=wait))
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
    """Add the folder to an interrupt as a note (PEP 678), if the folder exists by then.

    The last note names the outermost workspace, which the same command continues.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if directory.is_dir():
            interrupt.add_note(str(directory))
        raise


@contextmanager
def locked(directory: Path, *, wait: bool = False) -> Iterator[None]:
    """Prevent other processes from writing to the folder during the block.

    Args:
        wait: wait until no other process writes to it.

    Raises:
        RunDirectoryError: if another process writes to it.
    """
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise _busy(directory) from None
        try:
            is_still = os.path.samestat(os.fstat(descriptor), directory.stat())
        except FileNotFoundError:
            is_still = False
        if not is_still:  # another process has just replaced the folder
            raise _busy(directory)
        yield
    finally:
        os.close(descriptor)


def mark_own(directory: Path) -> None:
    """Remember that this user made the folder's configuration, in XDG_STATE_HOME or ~/.local/state.

    Without a home to write to, the folder later counts as received.
    """
    if not is_own(directory):
        with suppress(OSError, RuntimeError):
            (file := _own()).parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as stream:
                stream.write(f"{hash_file(directory / 'config.yaml')}\n")


def is_own(directory: Path) -> bool:
    """True if a command of this user wrote the folder's configuration, as it is now."""
    with suppress(OSError, RuntimeError, BrokenFileError):
        return hash_file(directory / "config.yaml") in _own().read_text().split()
    return False


def _own() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "dataenvgym" / "own_configurations"


def refuse_links(directory: Path) -> None:
    """Refuse a received folder with links out of it: they would show other files, or change them.

    Raises:
        RunDirectoryError: names the first one.
    """
    inside = os.path.realpath(directory)
    for parent, folders, files in os.walk(inside):
        for path in (os.path.join(parent, name) for name in (*folders, *files)):
            if os.path.islink(path) and not os.path.realpath(path).startswith(inside + os.sep):
                if is_own(directory):
                    return
                raise RunDirectoryError(
                    f"{path} is a link to {os.readlink(path)}, out of a folder from somebody else; "
                    "put the file itself there, or remove it"
                )


def _busy(directory: Path) -> RunDirectoryError:
    return RunDirectoryError(
        f"another process is writing {directory.name!r}; wait for it, or choose another "
        "name (name=..., --name)"
    )


def check_format(directory: Path) -> None:
    """Refuse the folder of a run, an evaluation or a study that has another format.

    A damaged file passes.

    Raises:
        FormatError: if its format is not this program's.
    """
    for name in ("environment.json", "study.json"):
        with suppress(FileNotFoundError, NotADirectoryError, BrokenFileError):
            refuse_format(directory / name, read_json(directory / name))


def refuse_format(path: Path, content: Any) -> None:
    """Refuse a file with this content if it has another format; see `check_format`."""
    found = content.get("format") if isinstance(content, dict) else FORMAT
    if found != FORMAT:
        is_older = found is None or (isinstance(found, int) and found < FORMAT)
        raise FormatError(
            f"{path} has format {found!r}, and this dataenvgym reads format {FORMAT}: "
            f"{'an older' if is_older else 'a newer'} dataenvgym wrote it. Use that version, "
            "choose another folder, or start over"
        )


# --- identity ---


def claim(
    directory: Path, identity: dict[str, Any], *, is_begun: bool, way_out: str = GO_BACK
) -> None:
    """Write `environment.json`, with the format and the versions of packages; or compare with it.

    Args:
        is_begun: the folder has results, which another identity cannot continue.
        way_out: what to do about another identity, for the message.

    Raises:
        RunDirectoryError: as `refuse_another`.
    """
    if is_begun:
        refuse_another(directory, identity, way_out)
    else:
        today = {"format": FORMAT, "versions": installed_versions()}
        write_json(directory / "environment.json", {**identity, **today})


def read_identity(directory: Path) -> dict[str, Any]:
    """Read `environment.json`; empty if there is none.

    Raises:
        RunDirectoryError: if it is damaged; FormatError: if another version wrote it.
    """
    path = directory / "environment.json"
    if not path.exists():
        return {}
    identity = read_model(path, dict[str, Any], "restore it, or start over")
    refuse_format(path, identity)
    return identity


def refuse_another(directory: Path, identity: dict[str, Any], way_out: str = GO_BACK) -> None:
    """Compare with the `environment.json` of an existing folder; warn of other versions.

    Raises:
        RunDirectoryError: if the file is missing or anything differs; names the first difference.
    """
    if not (before := read_identity(directory)):
        raise RunDirectoryError(
            f"{directory / 'environment.json'} is missing, so it is unknown whether student "
            "and problems are still the same; restore it, or start over"
        )
    before.pop("format", None)
    then, now = before.pop("versions", None), installed_versions()
    if isinstance(then, dict) and then != now:
        changes = (
            f"{name} {then.get(name, '(none)')} -> {now.get(name, '(none)')}"
            for name in sorted({*then, *now})
            if then.get(name) != now.get(name)
        )
        warn_run(
            f"{directory.name} was begun with other versions ({', '.join(changes)}): its results "
            "may differ from those of a run with one version throughout"
        )
    for key in sorted({*before, *identity}):
        if before.get(key) != identity.get(key):
            raise RunDirectoryError(
                f"{directory} was begun with {key} = {before.get(key)!r}, "
                f"not {identity.get(key)!r} (see environment.json); {way_out}"
            )


def is_hand_made(directory: Path) -> bool:
    """True for the folder of a run made in Python, which has no configuration."""
    has_config = (directory / "config.yaml").exists()
    is_run = (directory / "environment.json").exists() and (directory / "iterations").is_dir()
    return is_run and not has_config


def installed_versions() -> dict[str, str]:
    """The versions of Python and of the installed ones of `PACKAGES`."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
