"""The checks of a request: the input of one run as bytes, all paths inside the working folder."""

from __future__ import annotations

import math
import resource
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, Self

from dataenvgym.errors import ConfigurationError, shorten
from dataenvgym.sandbox.interface import DEFAULT_LIMITS, ExecutionResult, Limits

_BLOCK = 4096  # the size of the smallest file


_STACK = 8 * 2**20
_ULIMIT = {"AS": "v", "CPU": "t", "DATA": "d", "FSIZE": "f", "NOFILE": "n", "NPROC": "u",
           "SIGPENDING": "i", "STACK": "s"}  # fmt: skip


class Program(NamedTuple):
    """Python source, or else a command line, with its standard input and files."""

    code: bytes
    command: tuple[str, ...]
    stdin: bytes
    files: tuple[tuple[str, bytes], ...]
    limits: Limits


class ProcessSandbox(ABC):
    """A sandbox whose runs are processes: it checks requests, and converts them for a backend."""

    def run(
        self,
        code: str | bytes | None = None,
        *,
        command: Sequence[str] | None = None,
        stdin: str | bytes = "",
        files: Mapping[str, str | bytes] = {},
        limits: Limits = DEFAULT_LIMITS,
    ) -> ExecutionResult:
        """Run it; see `Sandbox.run`.

        Text becomes UTF-8. Lone surrogates are kept, so that the interpreter refuses a program that
        contains any, like other programs with a syntax error.

        Raises:
            ConfigurationError: for both or neither of code and command, a command that no system
                can start, a path that leaves the working folder, or more data than the disk holds.
        """
        if (code is None) == (command is None) or not (command is None or _is_command(command)):
            raise ConfigurationError(
                f"a run got code={code!r:.80} and command={command!r:.300}, expected one of them: "
                "Python source, or a program and its arguments such as ['bash', '-c', 'ls'], "
                "without NUL characters and lone surrogates"
            )
        names = [_inside(path) for path in files]
        if len(set(names)) < len(names):
            raise ConfigurationError(
                f"a file is given twice, by different spellings: {sorted(files)}"
            )
        placed = tuple(
            (name, _bytes(content)) for name, content in zip(names, files.values(), strict=True)
        )
        source = _bytes(code or "")
        contents = (source, *(content for _, content in placed))
        size = sum(-(-len(content) // _BLOCK) * _BLOCK for content in contents)
        if size > limits.disk:
            raise ConfigurationError(
                f"the program and its files take {size} bytes, and the disk of this run "
                f"holds {limits.disk}: give less, or raise Limits.disk"
            )
        check_inherited_limits(self.rlimits(limits), limits)
        return self.result(Program(source, tuple(command or ()), _bytes(stdin), placed, limits))

    @abstractmethod
    def rlimits(self, limits: Limits) -> dict[str, int]:
        """The kernel's limits of each process of a run."""

    @abstractmethod
    def result(self, program: Program) -> ExecutionResult:
        """Run a checked program."""

    @abstractmethod
    def close(self) -> None:
        """End all runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


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
    leaves = pure.is_absolute() or ".." in pure.parts or not pure.parts
    if leaves or not _can_be_passed(path):
        raise ConfigurationError(
            f"a file's path is {shorten(path, 300)!r}, expected one relative to the working "
            "folder, without '..', such as 'data/input.txt'"
        )
    return str(pure)


def _is_command(words: object) -> bool:
    if not isinstance(words, list | tuple) or not words or not words[0]:
        return False
    return all(isinstance(word, str) and _can_be_passed(word) for word in words)


def _can_be_passed(text: str) -> bool:
    """Whether the system takes it as an argument or a path: no NUL, no lone surrogates."""
    return "\0" not in text and text.encode(errors="ignore").decode() == text


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
