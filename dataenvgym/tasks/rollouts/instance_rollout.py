"""Asking generators, from one ask to the next; one of them is an instance in its environment.

An exception from a speaker (the student, or another one), a `Failure`, or an exception from the
environment ends its instance with an `error`, never with a wrong answer. If `predict` raises for
several conversations, they are asked again one by one, so that one of them does not fail the
others. After an `OSError` they are not, because the speaker is then out of reach for all.

A model may refuse a conversation for good because of the student's words in it: they are too long
for it, or its server does not accept them. That is the student's fault, and a wrong answer, else a
student could take the problems that it cannot solve out of its score. It is so if the same
conversation without these words is answered, and with them refused again (`sparing`). This holds
for the student's own next turn, too.

A failed instance names the party at fault (see `dataenvgym.records.instances`). It is the
infrastructure if the student's predictor failed, or if a speaker was out of reach (`is_outage`,
`Failure.outage`) or is missing; otherwise the speaker, by its name, or the environment.

A speaker that cannot work at all raises an exception for the caller: a `PredictionError` (its
server died), a `ConfigurationError`, or, of a teacher, a `BudgetSpentError` or an `ExternalError`
(its cache cannot be reached). Returning too few replies, or objects that are not replies, is a bug
and a `PredictionError`, too.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Generic, TypeVar

from dataenvgym.errors import (
    BudgetSpentError,
    ConfigurationError,
    ExternalError,
    PredictionError,
    SpeakerError,
    StoreError,
)
from dataenvgym.interfaces import (
    Ask,
    EnvironmentInterface,
    Failure,
    Reply,
    SamplingParameters,
    can,
)
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    Message,
    TaskInstance,
    checked_scores,
)
from dataenvgym.records.instances import ENVIRONMENT, INFRASTRUCTURE
from dataenvgym.records.instances import STUDENT as THE_STUDENT
from dataenvgym.records.usage import Usage
from dataenvgym.seeding import derive_seed

STUDENT = "predictor"
"""The student's name among the speakers, and in errors."""
TO_THE_CALLER = (PredictionError, ConfigurationError, BudgetSpentError, ExternalError)
"""Exceptions of a speaker that are not an instance's error."""
OF_ALL = (OSError,)
"""Exceptions of a speaker that concern all conversations: connections, time limits."""
_OUTAGES = ("Timeout", "Connect", "Cancelled")  # of httpx, openai, asyncio: not OSErrors
_WORD, _SPACES = re.compile(r"(\w+|[^\w\s])"), re.compile(r"\s{8,}")
_LONG = 64
_log = logging.getLogger(__name__)


def is_outage(error: Exception) -> bool:
    """Whether an exception means that a model was out of reach."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return isinstance(error, OF_ALL) or any(part in name for name in names for part in _OUTAGES)


def describe(who: str, error: Exception, name: str, *, among: int = 1) -> str:
    """The error in one line, for the record; the log gets the traceback and the name."""
    others = f" and {among - 1} more" if among > 1 else ""
    _log.warning("%s failed for %s%s", who, name, others, exc_info=error)
    return f"{who}: {type(error).__name__}: {error}"


def sparing(asks: Generator[Ask, Any, None], said: Sequence[str]) -> Generator[Ask, Any, None]:
    """Pass on asks; ask a speaker that fails without the student's words, and once more with them.

    Args:
        said: the student's messages so far, and the results of its calls.

    Raises:
        SpeakerError: if a speaker fails and may not, or if `asks` raises it. The fault is the
            student's if its words are why a speaker failed.
    """
    reply: Reply | Failure | None = None
    refused: SpeakerError | None = None
    with closing(asks):
        while True:
            try:
                given = asks.send(reply)
            except StopIteration:
                return
            except SpeakerError as error:
                raise refused or error from None
            ask = replace(given, may_fail=True)
            reply = yield ask
            fault = INFRASTRUCTURE if ask.who == STUDENT else ask.who
            if isinstance(reply, Failure) and not reply.outage and said:
                spared = replace(ask, conversation=_without(ask.conversation, said))
                if spared.conversation != ask.conversation and isinstance((yield spared), Reply):
                    reply = yield ask  # it may have failed by chance
                    fault = THE_STUDENT
            if isinstance(reply, Failure):
                failed = SpeakerError(reply.reason, fault=INFRASTRUCTURE if reply.outage else fault)
                refused = failed if failed.fault == THE_STUDENT else refused
                if not given.may_fail:
                    raise failed


def _without(conversation: Conversation, said: Sequence[str]) -> Conversation:
    """The conversation without the words in these texts, and without calls.

    Environments quote a text in many ways (indented, shortened, in one line), but keep its words.
    Each is taken out as often as it was said, the last ones first: a problem comes before answers.
    So is each sign; all of those that cannot be printed, and all of those that were said often.
    """
    left = Counter(word for text in said for word in _WORD.findall(text))
    often = (c for c, n in Counter("".join(said)).items() if n > _LONG or not c.isprintable())
    signs = dict.fromkeys(ord(c) for c in often if not c.isalnum() and c not in "_ \t\n")

    def rest(text: str) -> str:
        parts = _WORD.split(text)
        for i in range(len(parts) - 2, 0, -2):
            word = parts[i]
            if left[word] > 0 or (len(word) > _LONG and any(word in one for one in said)):
                left[word] -= 1
                parts[i] = ""
        return _SPACES.sub(" ", "".join(parts).translate(signs)) or "-"

    return tuple(
        message.model_copy(update={"content": rest(message.content), "tool_calls": ()})
        for message in reversed(conversation)
    )[::-1]


T = TypeVar("T")
BY_WORDS = "because of the student's words: "
"""The beginning of the note if a model refused a conversation because of them."""


class Asking(Generic[T]):
    """Runs a generator from one ask to the next.

    Attributes:
        name: for the log.
        ask: the ask whose reply it waits for, to the student or another speaker.
        live: whether it has neither ended nor failed.
        usage: of each reply, by speaker.
        result: what the generator returned.
    """

    ask: Ask
    result: T

    def __init__(self, name: str, asks: Generator[Ask, Any, T]) -> None:
        self.name = name
        self.live = True
        self.usage: dict[str, tuple[Usage, ...]] = {}
        self._asks = asks

    def begin(self) -> None:
        """Continue to the first ask."""
        self._advance(None)

    def answer(self, reply: Reply | Failure) -> None:
        """Continue from the reply to the next ask, or to the end."""
        if isinstance(reply, Reply):
            who = THE_STUDENT if self.ask.who == STUDENT else self.ask.who
            self.usage[who] = (*self.usage.get(who, ()), reply.usage)
        if isinstance(reply, Reply) or self.ask.may_fail:
            self._advance(reply)
        else:
            of_asked = INFRASTRUCTURE if self.ask.who == STUDENT else self.ask.who
            self.fail(reply.reason, INFRASTRUCTURE if reply.outage else of_asked)

    def fail(self, reason: str, fault: str) -> None:
        """End it with an error and the party at fault (see `dataenvgym.records.instances`)."""
        raise SpeakerError(reason, fault=fault)

    def _advance(self, reply: Reply | Failure | None) -> None:
        try:
            self.ask = self._asks.send(reply)
        except StopIteration as end:
            self.live = False
            self.result = end.value


class Rollout(Asking[None]):
    """One instance in its environment, from the first ask to the end.

    Its methods do not raise, they `fail` it. Two exceptions pass through: a `StoreError`, and an
    exception for the caller (see the module) from a speaker that the environment asks by itself.
    """

    def __init__(
        self,
        instance: TaskInstance,
        make_environment: Callable[[], EnvironmentInterface],
        sampling: SamplingParameters,
    ):
        self._said: list[str] = []  # by the student, and the results of its calls
        super().__init__(instance.id, sparing(self._converse(), self._said))
        self.instance = instance
        self._make_environment = make_environment
        self._sampling = sampling
        self._environment: EnvironmentInterface | None = None
        self._conversation: Conversation = ()
        self._reward = 0.0
        self._was_correct = False
        self._error: str | None = None
        self._fault: str | None = None
        self._note: str | None = None
        self._scores: dict[str, float] = {}

    def answer(self, reply: Reply | Failure) -> None:
        if isinstance(reply, Reply) and self.ask.who != STUDENT:
            try:
                reply.text.encode()
            except UnicodeEncodeError as error:  # no file could store it
                where = f"{error.reason} at position {error.start}"
                reply = Failure(reason=f"{self.ask.who}: the reply is not Unicode text: {where}")
        super().answer(reply)

    def fail(self, reason: str, fault: str) -> None:
        if fault == THE_STUDENT:  # a wrong answer, not an error
            self._note = BY_WORDS + reason
            self._scores = {**getattr(self._environment, "worst_scores", {}), **self._scores}
        else:
            self._error, self._fault = reason, fault
        self.live = False
        self.close()

    def close(self) -> None:
        """Release the environment's resources; the result is kept, even if that fails."""
        environment, self._environment = self._environment, None
        try:
            self._asks.close()
            if environment is not None and can(environment, "close"):
                environment.close()
        except Exception as error:  # noqa: BLE001  its instance is scored already; the log has it
            describe("environment (while closing)", error, self.name)

    def completed(self) -> CompletedTaskInstance:
        failed = self._error is not None
        return CompletedTaskInstance(
            instance=self.instance,
            transcript=self._conversation,
            reward=0.0 if failed else self._reward,
            was_correct=not failed and self._was_correct,
            error=self._error,
            fault=self._fault,
            note=self._note,
            scores={} if failed else self._scores,
            usage=self.usage,
        )

    def _advance(self, reply: Reply | Failure | None) -> None:
        try:
            super()._advance(reply)
            if not self.live:
                self.close()
        except SpeakerError as error:
            self.fail(str(error), error.fault)
        except (PredictionError, BudgetSpentError):
            raise  # from a speaker that the environment asked by itself: it cannot work at all
        except StoreError:
            raise  # no instance could be stored any more
        except Exception as error:  # noqa: BLE001  attributed to the environment
            self.fail(describe(ENVIRONMENT, error, self.name), ENVIRONMENT)

    def _converse(self) -> Generator[Ask, Any, None]:
        """The whole conversation; it yields where it needs a reply."""
        environment: Any = self._make_environment()
        self._environment = environment
        seed = derive_seed(self._sampling.seed, "rollout", self.instance.id)
        options = {"instance": self.instance}
        if _leaves_asks(type(environment), "reset"):
            shown, _ = yield from environment.reset_asking(seed=seed, options=options)
        else:
            shown, _ = environment.reset(seed=seed, options=options)
        leaves_asks = _leaves_asks(type(environment), "step")
        while True:
            self._conversation = shown
            text = (yield Ask(STUDENT, shown, self._sampling)).text
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            self._said.append(text)
            said = Message(role="assistant", content=text)
            self._conversation = (*shown, said)  # if the rest fails, it may be judged again
            n_before = len(shown)
            if leaves_asks:
                result = yield from environment.step_asking(text)
            else:
                result = environment.step(text)
            shown, reward, terminated, truncated, info = result
            scores = checked_scores(info.get("scores", {}), "info['scores']")
            self._said += (m.content for m in shown[n_before:] if m.role == "tool")
            self._reward += float(reward)
            self._scores = scores
            if terminated or truncated:
                self._conversation = shown
                self._was_correct = bool(info.get("was_correct", False))
                self._note = str(info["note"]) if "note" in info else None
                return


def _leaves_asks(kind: type, name: str) -> bool:
    """Whether an environment leaves its asks to the caller of `reset_asking` or `step_asking`.

    False if a subclass overrides only `reset` or `step`, because that override would be skipped.
    """
    owner = next((c for c in kind.__mro__ if {name, f"{name}_asking"} & vars(c).keys()), object)
    return f"{name}_asking" in vars(owner)
