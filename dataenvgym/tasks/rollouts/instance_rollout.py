"""Asking generators, from one ask to the next; one of them is an instance in its environment."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from dataenvgym.errors import BudgetSpentError, PredictionError, SpeakerError, StoreError
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
from dataenvgym.tasks.rollouts.faults import STUDENT, describe, sparing

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
    exception for the caller (see `faults`) from a speaker that the environment asks by itself.
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
