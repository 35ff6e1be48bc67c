"""Domains whose problems take several turns: the gold record is a held conversation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.records import ChatDatum, CompletedTaskInstance, SupervisedDatum, TaskInstance
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.record_conversion import record_of


class DialogueDomain(Domain):
    """Problems that are solved in a conversation; a subclass provides the gold messages."""

    @abstractmethod
    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """Messages of the student that solve the problem, in order.

        The conversation may end before the last one is used.
        """

    @abstractmethod
    def asks_model(self, instance: TaskInstance) -> bool:
        """Whether the problem needs another model, so that its conversation cannot be held here."""

    def gold_record(self, instance: TaskInstance) -> SupervisedDatum | ChatDatum | None:
        """The conversation with the gold replies if it solves the problem, else None."""
        try:
            completed = self.gold_conversation(instance)
        except ConfigurationError:
            raise
        except DataEnvGymError:
            return None
        if completed is None or not completed.was_correct:
            return None
        return record_of(completed, self.prompt(instance))

    def gold_conversation(self, instance: TaskInstance) -> CompletedTaskInstance | None:
        """Play the gold replies; None if there are none, or if the problem asks a model.

        Raises:
            DataEnvGymError: if the problem cannot be posed.
        """
        return self.conversation(instance, self.gold_replies(instance))

    def conversation(
        self, instance: TaskInstance, replies: Iterable[str]
    ) -> CompletedTaskInstance | None:
        """Play replies until the problem is over; None if there are none, or if it asks a model.

        Raises:
            DataEnvGymError: if the problem cannot be posed.
        """
        if self.asks_model(instance):
            return None
        result = None
        with closing(self.make_environment()) as environment:
            environment.reset(seed=0, options={"instance": instance})
            for reply in replies:
                result = environment.step(reply)
                if result[2] or result[3]:
                    break
        if result is None:
            return None
        conversation, reward, _, _, info = result
        return CompletedTaskInstance(
            instance=instance,
            transcript=conversation,
            reward=reward,
            was_correct=bool(info["was_correct"]),
            scores=info.get("scores", {}),
        )
