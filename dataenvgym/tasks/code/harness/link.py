"""The harness's side of the candidate: a child process, asked by messages."""

from __future__ import annotations

import os
from typing import Any

from dataenvgym.tasks.code.harness import answers, pipes, plain
from dataenvgym.tasks.code.harness.candidate import serve


class Trouble(BaseException):
    """An exception that no `except` of a test should take for one of the student's function."""


class GoneError(Trouble):
    """The candidate's process sends what is no answer, or, without a text, has ended."""


class UnfitError(Trouble):
    """A test cannot be run this way, e.g. it passes what cannot leave this process."""


class Candidate:
    """The process that runs the student's code, forked as this is made; it waits for the code.

    Attributes:
        descriptors: of the pipes to and from it.
        trouble: the first trouble there was.
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
        """Send it a message.

        Raises:
            GoneError: if it does not read any more.
        """
        try:
            pipes.send(self._send_to, message)
        except pipes.ClosedError:
            raise self.troubled(GoneError()) from None

    def receive(self) -> bytes:
        """Its message.

        Raises:
            GoneError: if it sends nothing any more.
        """
        try:
            return pipes.receive(self._receive_from)
        except pipes.ClosedError:
            raise self.troubled(GoneError()) from None

    def ask(self, order: bytes) -> bytes:
        """Its answer to an order, not parsed.

        Raises:
            GoneError: if there is none.
        """
        if isinstance(self.trouble, GoneError):
            raise self.trouble
        mark = os.urandom(pipes.MARK)
        self.send(mark + order)
        answer = self.receive()
        if not answer.startswith(mark):
            raise self.troubled(GoneError("it sent no answer"))
        return answer[len(mark) :]

    def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> answers.Answer:
        """Its answer to a test's call of the function `name`.

        Raises:
            UnfitError: if the arguments are not plain data; they are the test's doing, as results
                are plain data, and an exception of the student's is told apart.
            GoneError: without an answer.
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
        """An answer to a call.

        Raises:
            GoneError: if it is none.
        """
        try:
            return answers.read_answer(answer)
        except answers.OddError as error:
            raise self.troubled(GoneError(str(error))) from None

    def end(self) -> str:
        """How it ended; waits for that. No other process may hold its pipes."""
        for fd in self.descriptors:  # if it has closed its ends, it would wait for ours
            os.close(fd)
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the program ended itself ({how})"

    def troubled(self, trouble: Trouble) -> Trouble:
        """The same, to be raised; kept, as a test may swallow it."""
        self.trouble = self.trouble or trouble
        return trouble
