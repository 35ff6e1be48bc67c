"""A sandbox's limits, its result, and the protocol of a backend.

    with open_sandbox() as box:
        result = box.run("print(6 * 7)", limits=Limits(seconds=3))
        result.status, result.stdout  # "ok", b"42\\n"

A run never raises because of an error in its code: that is a `status`. It raises `SandboxError` if
the sandbox itself failed, which is not a wrong answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, Self, runtime_checkable

from pydantic import Field

from dataenvgym.records import Model

Status = Literal["ok", "error", "timeout", "out_of_memory", "output_limit", "killed"]


class Limits(Model):
    """Resource limits of one run; exceeding one ends it.

    Attributes:
        seconds: wall-clock time from its start to its end.
        memory: bytes of memory of all its processes together.
        processes: largest number of its processes and threads at a time.
        output: bytes of stdout and stderr together; more ends the run as `output_limit`.
        disk: bytes that it may write into its working folder and /tmp together.
        open_files: largest number of open files of one process.
    """

    seconds: float = Field(default=3.0, gt=0, le=10**6)
    memory: int = Field(default=512 * 2**20, ge=32 * 2**20, le=2**50)
    processes: int = Field(default=32, ge=1, le=2**22)
    output: int = Field(default=2**20, ge=0, le=2**50)
    disk: int = Field(default=64 * 2**20, ge=2**20, le=2**50)
    open_files: int = Field(default=256, ge=16, le=2**20)


class ExecutionResult(Model):
    """The result of one run.

    Attributes:
        status: ok (return code 0), error (another return code, or ended by a signal of its own),
            timeout, out_of_memory, output_limit, or killed (from outside: too many processes,
            pipes, locks or mappings).
        stdout, stderr: the first `Limits.output` bytes, as they were written.
        return_code: of the main process; None if a signal ended it.
        signal: the number of the signal that ended the main process, or None.
        seconds: wall-clock time of the run.
        memory: the largest number of bytes in use that was seen; 0 if the backend cannot tell.
        truncated: whether output was cut.
    """

    status: Status
    stdout: bytes = b""
    stderr: bytes = b""
    return_code: int | None = None
    signal: int | None = None
    seconds: float = Field(ge=0)
    memory: int = Field(default=0, ge=0)
    truncated: bool = False

    @property
    def text(self) -> str:
        """Stdout as text; bytes that are not UTF-8 become replacement characters."""
        return self.stdout.decode(errors="replace")


DEFAULT_LIMITS = Limits()


@runtime_checkable
class Sandbox(Protocol):
    """A backend that runs untrusted code. Several threads may use it at once."""

    def run(
        self,
        code: str | bytes | None = None,
        *,
        command: Sequence[str] | None = None,
        stdin: str | bytes = "",
        files: Mapping[str, str | bytes] = {},
        limits: Limits = DEFAULT_LIMITS,
    ) -> ExecutionResult:
        """Run Python `code` as `__main__`, or else a `command` line, in an empty folder.

        Args:
            code: a Python program, UTF-8.
            command: a program and its arguments, found on the sandbox's own PATH.
            stdin: its standard input.
            files: relative path -> contents, written into the working folder first.

        Raises:
            ConfigurationError: for both or neither of code and command, or an impossible path.
            SandboxError: if the sandbox failed, not the code.
        """
        ...

    def close(self) -> None:
        """End all runs; a closed sandbox runs nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...
