"""The harness's side of the candidate: a child process, asked by messages."""

from __future__ import annotations

import os
from typing import Any

from dataenvgym.tasks.code.harness import pipes, plain
from dataenvgym.tasks.code.harness.candidate import serve


class Trouble(BaseException):
    """What no `except` of a test should take for an exception of the student's function."""


class GoneError(Trouble):
    """The candidate's process ended, or sends what is no answer."""


class UnfitError(Trouble):
    """A test cannot be run this way, e.g. it passes what cannot leave this process."""


class Candidate:
    """The process that runs the student's code, forked as this is made; it waits for the code.

    Attributes:
        last_call: what was last asked, and answered, for messages.
        trouble: the first trouble there was.
    """

    def __init__(self) -> None:
        inbox, self._send_to = os.pipe()
        self._receive_from, outbox = os.pipe()
        self.last_call = ""
        self.trouble: Trouble | None = None
        self._pid = os.fork()
        if self._pid == 0:
            serve(inbox, outbox)
        os.close(inbox)
        os.close(outbox)

    def receive(self) -> dict[str, Any]:
        """Its next answer.

        Raises:
            GoneError: if there is none.
        """
        try:
            answer = plain.loads(self.receive_bytes())
        except (plain.NotPlainError, MemoryError) as error:
            raise self._in(GoneError(f"it sent {type(error).__name__}: {error}")) from None
        if not isinstance(answer, dict):
            raise self._in(GoneError("it sent no answer"))
        return answer

    def receive_bytes(self) -> bytes:
        """The same, not parsed."""
        self._check()
        try:
            return pipes.receive(self._receive_from)
        except pipes.ClosedError:
            raise self._in(GoneError(self._end())) from None

    def send(self, message: bytes) -> None:
        """Send it a message.

        Raises:
            GoneError: if it does not read any more.
        """
        self._check()
        try:
            pipes.send(self._send_to, message)
        except pipes.ClosedError:
            raise self._in(GoneError(self._end())) from None

    def ask(self, name: str, args: Any, kwargs: Any) -> dict[str, Any]:
        """Its answer to a call of the function `name`.

        Raises:
            UnfitError: if the arguments are no plain data.
            GoneError: if there is no answer.
        """
        try:
            order = plain.dumps({"call": name, "args": list(args), "kwargs": kwargs})
        except plain.NestedError as error:
            raise self._in(GoneError(str(error))) from None  # it came from the candidate
        except plain.NotPlainError as error:
            text = f"it passes {error}, to {name}: set tests_share_process"
            raise self._in(UnfitError(text)) from None
        self.send(order)
        answer = self.receive()
        if not {"value", "raised"} & answer.keys():
            raise self._in(GoneError("it sent no answer"))
        return answer

    def _check(self) -> None:
        if isinstance(self.trouble, GoneError):
            raise self.trouble

    def _in(self, trouble: Trouble) -> Trouble:
        self.trouble = self.trouble or trouble
        return trouble

    def _end(self) -> str:
        os.close(self._receive_from)  # if it has closed its end, it would wait for ours
        os.close(self._send_to)
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the program ended itself ({how})"
