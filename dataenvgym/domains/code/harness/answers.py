"""Parses the messages of other processes; no other module parses those of untrusted code.

    Answer  of the student's process to a call, or to the loading of its code
    Report  of a test that is a program

The harness uses it, where time and memory are bounded, and our own process uses it again. The
student's code can send anything. A message of the wrong shape or size raises `OddError` and counts
against its sender.
"""

from __future__ import annotations

import builtins
from typing import Any

from dataenvgym.domains.code.harness import plain

LONGEST = 4000
"""Characters of a text in a message; the rest is cut off."""
MOST_PRINTED = 65536
"""Largest number of characters kept of a function's output."""
_MOST_ARGUMENTS = 1000
_LAST_LINE = 10**9


class OddError(Exception):
    """A message that is malformed."""


class Raised:
    """An exception of the student's code, as its process reports it (see `exceptions.as_data`)."""

    __slots__ = ("arguments", "base", "line", "message", "name")

    def __init__(self, told: Any):
        if not isinstance(told, dict):
            raise OddError("it sent an exception that is none")
        self.name = _text(told.get("class"))
        self.base = _text(told.get("base"))
        self.message = _text(told.get("message"))
        line, arguments = told.get("line"), told.get("args")
        self.line = line if type(line) is int and 0 <= line < _LAST_LINE else 0
        if type(arguments) is not list or len(arguments) > _MOST_ARGUMENTS:
            arguments = [self.message]
        self.arguments: list[Any] = arguments

    def in_words(self) -> str:
        """Class, message and line."""
        at = f" (line {self.line})" if self.line else ""
        return f"{self.name}: {self.message}".rstrip(": ") + at

    def again(self) -> BaseException:
        """An exception to raise for the tests: of the builtin class, with the original name.

        Never StopIteration: in a test like `all(map(f, xs))` it would end the test as if all had
        passed.
        """
        try:
            base = vars(builtins)[self.base]
            if issubclass(base, Exception) and base is not StopIteration:
                kind = base
                if self.name != base.__name__:
                    kind = type(self.name, (base,), {"__module__": "__main__"})
                error: BaseException = kind(*self.arguments)
                return error
        except Exception:  # it takes other arguments, or the student's process invented it
            pass
        return RuntimeError(self.in_words())


class Answer:
    """The answer to a call: a value, an exception, or a result that is not plain data.

    Attributes:
        value: the result, where `raised` and `no_data` are None.
        raised: the exception that the function raised.
        no_data: why the result cannot be passed on.
        changed: how the function changed its arguments, not checked (see `in_place.put_back`).
        printed: the function's output on stdout.
    """

    __slots__ = ("changed", "no_data", "printed", "raised", "value")

    def __init__(self, told: Any):
        outcomes = {"value", "raised", "no_data"} & told.keys() if isinstance(told, dict) else ()
        if len(outcomes) != 1:
            raise OddError("it sent no answer")
        self.value = told.get("value")
        self.raised = Raised(told["raised"]) if "raised" in told else None
        self.no_data = _text(told["no_data"]) if "no_data" in told else None
        self.changed = told.get("changed")
        self.printed = _text(told.get("printed", ""), MOST_PRINTED)


class Report:
    """The result of a test that is a program.

    Attributes:
        failure: None if the test passed, else the reason.
        no_data: whether a result was not plain data.
        missing: the module whose failed import ended the test, or "".
        unfit: why the test cannot be run this way, or None.
        gone: set if the candidate's process is gone: how it ended, as far as that is known.
    """

    __slots__ = ("failure", "gone", "missing", "no_data", "unfit")

    def __init__(self, told: Any):
        if not isinstance(told, dict) or not {"failure", "unfit", "gone"} & told.keys():
            raise OddError("it sent no report")
        failure = told.get("failure")
        self.failure = None if failure is None else _text(failure)
        self.no_data = told.get("no_data") is True
        self.missing = _text(told.get("missing", ""))
        self.unfit = _text(told["unfit"]) if "unfit" in told else None
        self.gone = _text(told["gone"]) if "gone" in told else None

    def as_data(self) -> dict[str, Any]:
        """The message that `Report` reads."""
        told = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in told.items() if value is not None} | {
            "failure": self.failure
        }


def read_answer(message: bytes) -> Answer:
    """The answer in a message."""
    return Answer(_read(message))


def read_report(message: bytes) -> Report:
    """The report in a message."""
    return Report(_read(message))


def read_loaded(message: bytes) -> Raised | None:
    """The exception that loading the code raised, or None."""
    told = _read(message)
    if told == {}:
        return None
    return Raised(told.get("raised") if isinstance(told, dict) else None)


def _read(message: bytes) -> Any:
    try:
        return plain.loads(message)
    except Exception as error:  # not from `plain.dumps`; or too large for the memory
        raise OddError(f"it sent {type(error).__name__}: {error}"[:LONGEST]) from None


def _text(value: Any, longest: int = LONGEST) -> str:
    if type(value) is not str:
        raise OddError("it sent no text where there should be one")
    return value[:longest]
