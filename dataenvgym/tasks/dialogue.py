"""Domains whose problems are conversations; the gold record is one that is held."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.domain import Domain, last_reply
from dataenvgym.tasks.record_conversion import record_of


class DialogueDomain(Domain):
    """Problems that are solved in a conversation; a subclass provides the gold messages.

    Where a problem and its solution are more than an instruction and a reply, it also says how
    teachers read them and write records.
    """

    @abstractmethod
    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """Messages of the student that solve the problem, in order.

        The conversation may end before the last one is used.
        """

    @abstractmethod
    def asks_model(self, instance: TaskInstance) -> bool:
        """Whether the problem needs another model, so that its conversation cannot be held here."""

    # --- what teachers read ---

    @property
    def teacher_context(self) -> str:
        """The text for a teacher about all problems; the default is the system message."""
        return self.prompt_template.system

    def text_of(self, instance: TaskInstance) -> str:
        """The problem as one text, with everything that the student is given.

        The default is the instruction.
        """
        return instance.instruction

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The student's part of a try; None if it never answered.

        The default is its last message.
        """
        return last_reply(completed)

    def gold_text(self, instance: TaskInstance) -> str | None:
        """The gold answer in the form of a record's output, or None."""
        return instance.answer

    def characters(self, instance: TaskInstance) -> tuple[str, str]:
        """The names of the student's character and of the other one, for a judge of a dialogue."""
        return "agent1", "agent2"

    # --- tries and records ---

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        """The answer of a finished try, which equal tries share; None if it gives none.

        The default is the answer in its last message.
        """
        reply = last_reply(completed)
        return None if reply is None else self.answer_class(completed.instance, said_in(reply))

    def unframe(self, record: TrainingDatum) -> TrainingDatum:
        """Remove the text that all prompts of the task share; the inverse of `frame`."""
        return self.prompt_template.unframe(record)

    def record_fault(self, record: TrainingDatum) -> str | None:
        """Why a framed record must not be trained on, in one word; None if there is no such reason.

        The record is dropped, and counted under that word.
        """
        return None

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
