"""The harness's side of the candidate: a child process that answers messages."""

from __future__ import annotations

import os
from typing import Any

from dataenvgym.domains.code.harness import answers, pipes, plain
from dataenvgym.domains.code.harness.candidate import serve


class Trouble(BaseException):
    """An exception that no `except` of a test should mistake for one of the student's function."""


class GoneError(Trouble):
    """The candidate's process sent an invalid answer or, without a text, has ended."""


class UnfitError(Trouble):
    """A test cannot be run this way, e.g. it passes an object that cannot leave this process."""


class Candidate:
    """The process that runs the student's code, forked by the constructor; it waits for the code.

    Its methods raise a `GoneError` if it no longer reads or sends, or sends no answer.

    Attributes:
        descriptors: of the pipes to and from it.
        trouble: the first trouble, if any.
    """

    def __init__(self) -> None:
        inbox, self._send_to = os.pipe()
        self._receive_from, outbox = os.pipe()
        self.descriptors = (self._send_to, self._receive_from)
        self.trouble: Trouble | None = None
        self._pid = os.fork()
        if self._pid == 0:
            serve(inbox, outbox)
        os.close(inbox)
        os.close(outbox)

    def send(self, message: bytes) -> None:
        """Send it a message."""
        try:
            pipes.send(self._send_to, message)
        except pipes.ClosedError:
            raise self.troubled(GoneError()) from None

    def receive(self) -> bytes:
        """Receive its message."""
        try:
            return pipes.receive(self._receive_from)
        except pipes.ClosedError:
            raise self.troubled(GoneError()) from None

    def ask(self, order: bytes) -> bytes:
        """Send an order and return the answer, not parsed."""
        if isinstance(self.trouble, GoneError):
            raise self.trouble
        mark = os.urandom(pipes.MARK)
        self.send(mark + order)
        answer = self.receive()
        if not answer.startswith(mark):
            raise self.troubled(GoneError("it sent no answer"))
        return answer[len(mark) :]

    def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> answers.Answer:
        """Answer a test's call of the function `name`.

        Raises:
            UnfitError: if the arguments are not plain data. The test made them: results are always
                plain data, and exceptions of the student's code are recognized.
        """
        try:
            order = plain.dumps({"call": name, "args": args, "kwargs": kwargs, "from_test": True})
        except plain.NestedError as error:
            raise self.troubled(GoneError(str(error))) from None  # it came from the candidate
        except plain.NotPlainError as error:
            if any(isinstance(value, BaseException) for value in [*args, *kwargs.values()]):
                raise self.troubled(GoneError(f"an exception was passed to {name}")) from None
            text = f"it passes {error}, to {name}: set tests_share_process"
            raise self.troubled(UnfitError(text)) from None
        return self.parsed(self.ask(order))

    def parsed(self, answer: bytes) -> answers.Answer:
        """Parse an answer to a call."""
        try:
            return answers.read_answer(answer)
        except answers.OddError as error:
            raise self.troubled(GoneError(str(error))) from None

    def end(self) -> str:
        """Wait for its end and say how it ended. No other process may hold its pipes."""
        for fd in self.descriptors:  # if it has closed its ends, it would wait for ours
            os.close(fd)
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the program ended itself ({how})"

    def troubled(self, trouble: Trouble) -> Trouble:
        """Keep the trouble, because a test may swallow it, and return it to be raised."""
        self.trouble = self.trouble or trouble
        return trouble
