"""A checked request: the input of one run as bytes, with all paths inside the working folder."""

from __future__ import annotations

import math
import resource
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from dataenvgym.errors import ConfigurationError, shorten
from dataenvgym.sandbox.interface import Limits

_BLOCK = 4096  # the size of the smallest file
_MOST_FILES = 16_000  # with folders: as many as the file system of a run can hold


_STACK = 8 * 2**20
_ULIMIT = {"AS": "v", "CPU": "t", "DATA": "d", "FSIZE": "f", "NOFILE": "n", "NPROC": "u",
           "SIGPENDING": "i", "STACK": "s"}  # fmt: skip


class Program(NamedTuple):
    """Python source or a command line, with its standard input and files."""

    code: bytes | None
    command: tuple[str, ...]
    stdin: bytes
    files: tuple[tuple[str, bytes], ...]
    limits: Limits


def checked_program(
    code: str | bytes | None,
    *,
    command: Sequence[str] | None,
    stdin: str | bytes,
    files: Mapping[str, str | bytes],
    limits: Limits,
) -> Program:
    """Check a request and convert it for backends.

    Text becomes UTF-8. Lone surrogates are kept, so that the interpreter refuses a program that
    contains any, like other programs with a syntax error.

    Raises:
        ConfigurationError: for both or neither of code and command, a command that no system
            can start, a path that leaves the working folder, or more data than the disk holds.
    """
    if (code is None) == (command is None):
        raise ConfigurationError(
            f"a run got {'neither' if code is None else 'both'} of code and command, expected "
            "one: Python source as code=..., or a command line as command=[...]"
        )
    argv = tuple(command) if isinstance(command, list | tuple) else ()
    words = all(isinstance(word, str) for word in argv)
    if command is not None and not (argv and words and argv[0]):
        raise ConfigurationError(
            f"command is {command!r}, expected a program and its arguments, such as "
            "['bash', '-c', 'ls']"
        )
    if unfit := [word for word in argv if "\0" in word or not _is_encodable(word)]:
        raise ConfigurationError(
            f"command has an argument with a NUL character or a lone surrogate: {unfit[0]!r:.300}"
        )
    names = [_inside(path) for path in files]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ConfigurationError(f"the file {twice[0]!r} is given twice, by different spellings")
    folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}
    if clash := sorted(folders.intersection(names)):
        raise ConfigurationError(f"{clash[0]!r} is both a file and a folder of other files")
    if len(names) + len(folders) > _MOST_FILES:
        raise ConfigurationError(
            f"a run got {len(names)} files in {len(folders)} folders, expected at most "
            f"{_MOST_FILES} of both together"
        )
    placed = tuple(
        (name, _bytes(content)) for name, content in zip(names, files.values(), strict=True)
    )
    source = b"" if code is None else _bytes(code)
    contents = (source, *(content for _, content in placed))
    size = sum(-(-len(content) // _BLOCK) * _BLOCK for content in contents)
    if size > limits.disk:
        raise ConfigurationError(
            f"the program and its files take {size} bytes, and the disk of this run "
            f"holds {limits.disk}: give less, or raise Limits.disk"
        )
    return Program(None if code is None else source, argv, _bytes(stdin), placed, limits)


def check_inherited_limits(rlimits: Mapping[str, int], limits: Limits) -> None:
    """Refuse hard limits of this process, often of the user's shell, that are too low for a run.

    A run inherits them and cannot raise them, so they would change its result.

    Args:
        rlimits: what the run sets for itself.

    Raises:
        ConfigurationError: naming the first one.
    """
    cpu = math.ceil(limits.seconds) * limits.processes
    needed = {"RLIMIT_STACK": _STACK, "RLIMIT_CPU": cpu, "RLIMIT_FSIZE": limits.disk, **rlimits}
    for name, amount in needed.items():
        hard = resource.getrlimit(getattr(resource, name))[1]
        letter = _ULIMIT.get(name.removeprefix("RLIMIT_"))
        if letter and hard != resource.RLIM_INFINITY and hard < amount:
            raise ConfigurationError(
                f"the hard limit {name} of this process (`ulimit -H{letter}`) is {hard}, and a run "
                f"with these limits needs {amount}, or its result could be another: start from a "
                f"shell with a higher limit, or lower the limits of the run ({limits!r})"
            )


def _inside(path: str) -> str:
    pure = PurePosixPath(path)
    impossible = "\0" in path or pure.is_absolute() or ".." in pure.parts or not pure.parts
    impossible = impossible or not _is_encodable(path)
    long = any(len(part.encode(errors="replace")) > 255 for part in pure.parts) or len(path) > 1000
    if impossible or long:
        raise ConfigurationError(
            f"a file's path is {shorten(path, 300)!r}, expected one relative to the working "
            "folder, without '..', such as 'data/input.txt'"
        )
    return str(pure)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
