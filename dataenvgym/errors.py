"""All errors that dataenvgym raises on purpose.

They share the base class `DataEnvGymError`; each subclass is a case that callers can handle. A
message says what was found, what was expected, and what to do. Errors about wrong input also derive
from `ValueError`, so that ordinary handlers catch them.

    DataEnvGymError
    ├── ConfigurationError      an option, name or combination that cannot work      (ValueError)
    ├── InvalidRecordError      a training record that does not fit its schema       (ValueError)
    ├── InvalidInstanceError    a task instance that cannot be used                  (ValueError)
    ├── InvalidActionError      an action that is not in the action space            (ValueError)
    ├── UnparsableAnswerError   a gold answer that no scorer can read                (ValueError)
    ├── DatasetFormatError      a LLaMA-Factory file with wrong contents             (ValueError)
    ├── AdapterError            an adapter that is broken or fits another student    (ValueError)
    ├── BrokenFileError         a file that should contain JSON and does not         (ValueError)
    ├── AgentError              an agent that did something forbidden
    ├── UnsupportedStageError   a training stage that this trainer does not have
    ├── TrainingError           a training that ended without a usable adapter
    ├── PredictionError         a predictor that could not answer at all
    │   ├── ServerError         ... because its server died, or never came up
    ├── WorkerLostError         a worker process of an executor that died repeatedly
    ├── SandboxError            a sandbox that could not run its code
    ├── ExternalError           an outside program that is missing or fails
    │   └── StoreError          ... a server that stores profiles, episodes and scores
    ├── BudgetSpentError        a teacher that may make no more calls
    ├── IncompleteStudyError    a study with failed episodes
    ├── SpeakerError            a user, a judge or another speaker that failed
    ├── EvaluationError         an evaluation in which no instance could be scored
    └── RunDirectoryError       a run directory that does not fit the request
        ├── ConfigChangedError  ... because its configuration is another one
        └── FormatError         ... because another version of dataenvgym wrote it

A single failed call is not an exception but a `Failure` (see `dataenvgym.interfaces`). Its instance
is counted separately, neither as right nor as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING

_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

if TYPE_CHECKING:
    from pydantic import ValidationError


class DataEnvGymError(Exception):
    """The base of all errors that dataenvgym raises on purpose."""


class ConfigurationError(DataEnvGymError, ValueError):
    """An option, a name or a combination of options that cannot work."""


class InvalidRecordError(DataEnvGymError, ValueError):
    """A training record that does not fit its schema.

    Attributes:
        index: position of the record in its batch (0-based), or None outside a batch.
        field: dotted name of the wrong field, or None if the whole record is wrong.
    """

    def __init__(self, message: str, *, index: int | None = None, field: str | None = None):
        super().__init__(message)
        self.index = index
        self.field = field


class InvalidInstanceError(DataEnvGymError, ValueError):
    """A task instance that cannot be used; the message names the instance."""


class InvalidActionError(DataEnvGymError, ValueError):
    """An action that is not in the environment's action space."""


class UnparsableAnswerError(DataEnvGymError, ValueError):
    """A gold answer that the scorer cannot read, so no answer could ever equal it."""


class DatasetFormatError(DataEnvGymError, ValueError):
    """A LLaMA-Factory dataset or training file with wrong contents."""


class AdapterError(DataEnvGymError, ValueError):
    """An adapter that is broken, or that was made for another student."""


class BrokenFileError(DataEnvGymError, ValueError):
    """A file that should contain JSON and does not; the message names the file."""


class AgentError(DataEnvGymError):
    """An agent that changed the student, or whose state is not plain JSON."""


class UnsupportedStageError(DataEnvGymError):
    """A training stage or option that this trainer does not have."""


class TrainingError(DataEnvGymError):
    """A training that ended without a usable adapter."""


class DivergedError(TrainingError):
    """A training whose loss or gradients were not finite: its own options are the reason."""


class PredictionError(DataEnvGymError):
    """A predictor that could not answer at all (a single failed call is a `Failure`)."""


class ServerError(PredictionError):
    """A server that died, never came up, or refused a request that the run cannot do without.

    Attributes:
        status: the HTTP status of its answer, or None without an answer.
    """

    def __init__(self, message: str, *, status: int | None = None):
        super().__init__(message)
        self.status = status


class WorkerLostError(DataEnvGymError):
    """A worker process that died after each restart."""


class ExternalError(DataEnvGymError):
    """An outside program that is missing, or that cannot be set up."""


class StoreError(ExternalError):
    """A store's server cannot be reached, or refuses; its documents are undamaged."""


class SandboxError(DataEnvGymError):
    """A sandbox that could not run the code; this says nothing about the code."""


class BudgetSpentError(DataEnvGymError):
    """A teacher whose budget (requests, tokens or money) is spent; the episode ends normally."""


class IncompleteStudyError(DataEnvGymError):
    """A study with failed episodes; running the same command resumes it."""


class SpeakerError(DataEnvGymError):
    """Another speaker of a conversation gave no answer, or an invalid one.

    Attributes:
        fault: who is at fault (see `dataenvgym.records.instances`): by default the speaker at the
            beginning of the message ("user: ..."), or the environment.
    """

    def __init__(self, message: str, *, fault: str | None = None):
        super().__init__(message)
        name = message.partition(":")[0]
        self.fault = fault or (name if name.replace("-", "_").isidentifier() else "environment")


class EvaluationError(DataEnvGymError):
    """An evaluation in which no instance could be scored."""


class RunDirectoryError(DataEnvGymError):
    """A run directory that does not fit the request."""


class ConfigChangedError(RunDirectoryError):
    """A run that was started with another configuration.

    Attributes:
        keys: dotted names of the options that differ.
    """

    def __init__(self, message: str, *, keys: tuple[str, ...]):
        super().__init__(message)
        self.keys = keys


class FormatError(RunDirectoryError):
    """A folder of a run, an evaluation or a study that another version of dataenvgym wrote."""


_noted: ContextVar[list[DataEnvGymError] | None] = ContextVar("noted", default=None)


@contextmanager
def noting_needs() -> Iterator[list[DataEnvGymError]]:
    """In the block, `need` notes what this machine lacks, as for `run --dry`; yields the notes."""
    notes: list[DataEnvGymError] = []
    token = _noted.set(notes)
    try:
        yield notes
    finally:
        _noted.reset(token)


def need(error: DataEnvGymError) -> None:
    """Raise an error about something that this machine lacks; in `noting_needs`, note it."""
    if (notes := _noted.get()) is None:
        raise error
    if str(error) not in map(str, notes):
        notes.append(error)


def first_fault(error: ValidationError, within: str = "", *, skip: int = 0) -> str:
    """The first fault that pydantic found: the field, its value, and pydantic's own words.

    Args:
        within: the field that the refused value is in.
        skip: parts of the location that are not fields, such as the tag of a union.
    """
    first = error.errors(include_url=False)[0]
    field = ".".join(filter(None, (within, *map(str, first["loc"][skip:]))))
    found = f" is {shorten(repr(first['input']), 100)}"
    if not field or first["type"] in ("missing", "value_error"):
        found = ""
    return f"{field}{found}: {first['msg']}".removeprefix(": ").replace("Value error, ", "", 1)


def check_one_of(known: Collection[str], **options: str) -> None:
    """Refuse options whose values are not known.

    Raises:
        ConfigurationError: naming the first of them, and the known values.
    """
    for name, value in options.items():
        if value not in known:
            raise ConfigurationError(
                f"{name} is {value!r}, expected one of {', '.join(known)}."
                f"{did_you_mean(str(value), known)}"
            )


def shorten(text: str, most: int = 80, *, end: str = "...") -> str:
    """The text, cut to at most that many characters; then the last ones are `end`."""
    return text if len(text) <= most else text[: max(most - len(end), 0)] + end


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the known name closest to `name`, or an empty string."""
    matches = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def escaped(text: str) -> str:
    r"""The text with lone surrogates and control characters (except `\n`, `\t`) as `\x1b`."""
    return _NOT_SHOWN.sub(lambda found: ascii(found[0])[1:-1], text)
