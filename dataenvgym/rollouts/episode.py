"""One instance on its way through its task environment."""

from __future__ import annotations

from collections.abc import Callable

from dataenvgym.interfaces import EnvironmentInterface, Reply
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    Message,
    TaskInstance,
    checked_scores,
)
from dataenvgym.rollouts.faults import describe
from dataenvgym.seeding import derive_seed


class InstanceEpisode:
    """One instance on its way through its environment. Its steps never raise: they `fail` it."""

    def __init__(
        self,
        instance: TaskInstance,
        make_environment: Callable[[], EnvironmentInterface],
        seed: int,
    ):
        self.instance = instance
        self.conversation: Conversation = ()
        self.live = True
        self._make_environment = make_environment
        self._seed = derive_seed(seed, "rollout", instance.id)
        self._environment: EnvironmentInterface | None = None
        self._reward = 0.0
        self._was_correct = False
        self._error: str | None = None
        self._note: str | None = None
        self._scores: dict[str, float] = {}

    def begin(self) -> None:
        try:
            self._environment = self._make_environment()
            self.conversation, _ = self._environment.reset(
                seed=self._seed, options={"instance": self.instance}
            )
        except Exception as error:
            self.fail(describe("environment", error, self.instance))
            self.close()

    def answer(self, reply: Reply) -> None:
        try:
            reply.text.encode()
        except UnicodeEncodeError as error:  # so nothing could keep it
            where = f"{error.reason} at position {error.start}"
            self.fail(f"predictor: the reply is no Unicode text: {where}")
        else:
            self._step(reply.text)
        if not self.live:
            self.close()

    def _step(self, text: str) -> None:
        assert self._environment is not None
        try:
            after, reward, terminated, truncated, info = self._environment.step(text)
            scores = checked_scores(info.get("scores", {}), "info['scores']")
            self._reward += float(reward)
            self.conversation = after
            if terminated or truncated:
                self._scores = scores
                self._was_correct = bool(info.get("was_correct", False))
                self._note = str(info["note"]) if "note" in info else None
                self.live = False
        except Exception as error:
            said = Message(role="assistant", content=text)
            self.conversation = (*self.conversation, said)  # it may be judged again
            self.fail(describe("environment", error, self.instance))

    def fail(self, reason: str) -> None:
        self._error = reason
        self.live = False

    def close(self) -> None:
        """Give the environment's resources back; the result stands, even if that fails."""
        environment, self._environment = self._environment, None
        try:
            if environment is not None and hasattr(environment, "close"):
                environment.close()
        except Exception as error:
            describe("environment (while closing)", error, self.instance)

    def completed(self) -> CompletedTaskInstance:
        failed = self._error is not None
        return CompletedTaskInstance(
            instance=self.instance,
            transcript=self.conversation,
            reward=0.0 if failed else self._reward,
            was_correct=not failed and self._was_correct,
            error=self._error,
            note=self._note,
            scores={} if failed else self._scores,
        )
