"""A domain: how problems of one kind are put and judged, wherever they come from.

A task is a source of problems and a domain. Policies, engines, quality checks and evaluation ask
the domain; they know no scorer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
from dataenvgym.tasks.replies import last_reply
from dataenvgym.tasks.words import words_of


class Domain(ABC):
    """How problems are put, judged, compared and taught; `make_environment` is all it needs.

    Attributes:
        prompt_template: the text around an instruction in a prompt.
        answer_form: tells a model that sees a bare question how to write its answer, so that
            `answer_class` reads it and equal answers are found (majority votes); "" if replies to
            a bare question cannot be compared.
        has_tools: whether results of tools are needed, so that a question with an answer does not
            say how a problem is solved.
    """

    prompt_template: PromptTemplate = PLAIN
    answer_form: str = ""
    has_tools: bool = False

    @abstractmethod
    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        """A new environment for one problem at a time; called from several threads."""

    def check_ready(self) -> None:  # noqa: B027 - most domains need nothing
        """Raise ConfigurationError if something that judging needs is missing."""

    def close(self) -> None:  # noqa: B027 - most domains hold nothing
        """Release what judging holds."""

    # --- putting and judging a problem ---

    def prompt(self, instance: TaskInstance) -> Conversation:
        """The conversation that the student sees first."""
        with closing(self.make_environment()) as environment:
            conversation, _ = environment.reset(seed=0, options={"instance": instance})
            return conversation

    def judge(self, instance: TaskInstance, reply: str) -> bool:
        """Whether `reply`, as the student's first message, solves the problem.

        Raises:
            DataEnvGymError: if it cannot be judged.
        """
        with closing(self.make_environment()) as environment:
            environment.reset(seed=0, options={"instance": instance})
            *_, info = environment.step(reply)
            return bool(info["was_correct"])

    def corpus_scores(self, completed: Sequence[CompletedTaskInstance]) -> Mapping[str, float]:
        """Named scores of several finished problems together: those that are not means over them.

        A macro F1 is one. Reports have them beside the means of `Outcome.scores`, overall and by
        skill. Here there are none.

        Args:
            completed: at least one, none with an error; their order must not matter.
        """
        return {}

    def text_of(self, instance: TaskInstance) -> str:
        """The problem as one text, as teachers read it: all that the student is given.

        Here, the instruction.
        """
        return instance.instruction

    # --- what teachers read ---

    @property
    def told(self) -> str:
        """The text for a teacher that holds for all problems: here, the system message."""
        return self.prompt_template.system

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The student's reply to a problem; None if it never answered.

        Here, its last message.
        """
        return last_reply(completed)

    def gold_text(self, instance: TaskInstance) -> str | None:
        """The gold answer, as a record's output would have it, or None."""
        return instance.answer

    # --- comparing ---

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The answer that a reply gives, in a few characters; None if it gives none.

        Here, the whole reply without surrounding space.
        """
        return reply.strip() or None

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        """The answer that a finished try gives, to be compared as `answer_class` is.

        Here, the one of its last message.
        """
        reply = last_reply(completed)
        return None if reply is None else self.answer_class(completed.instance, reply)

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool:
        """Whether two different answers of `answer_class` are equal, as 1/2 and 0.5 are."""
        return one == other

    def gives(self, instance: TaskInstance, reply: str, right: str) -> bool | None:
        """Whether a reply gives the answer `right` of `answer_class`; None if that is unknown."""
        given = self.answer_class(instance, reply)
        return given is not None and (given == right or self.same_answer(instance, right, given))

    def overlap_key(self, text: str) -> str:
        """A key that two texts share if they put the same problem: here, words and digits.

        Case, punctuation, spacing and the Unicode form of a letter do not count.
        """
        return " ".join(words_of(text))

    def overlap_answer(self, instance: TaskInstance) -> str | None:
        """The gold answer, of which a training record must not repeat 13 words in a row.

        Here, all of it; None where answers to different problems have long runs in common.
        """
        return instance.answer

    # --- records ---

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """A record that an engine wrote, in the prompt of the task.

        Its instruction is a problem as in `text_of`; here, it is put into the template.
        """
        return self.prompt_template.frame(record)

    def unframe(self, record: TrainingDatum) -> TrainingDatum:
        """The record without what every prompt of the task has, as an engine wrote it."""
        return self.prompt_template.unframe(record)

    def gold_record(self, instance: TaskInstance) -> SupervisedDatum | ChatDatum | None:
        """A record that solves the problem, or None.

        It has the first of the `ways_to_answer` that `judge` accepts.

        Raises:
            ConfigurationError: if nothing can be judged, such as without a sandbox or a speaker.
        """
        try:
            prompt = self.prompt(instance)
            ways = (text for text in self.ways_to_answer(instance) if self.judge(instance, text))
            output = next(ways, None)
        except ConfigurationError:
            raise
        except DataEnvGymError:
            return None
        fields = prompt_fields(prompt)
        if fields is None or not output:
            return None
        return SupervisedDatum(**fields, output=output, provenance=Provenance(skill=instance.skill))

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        """The gold answer as replies that may solve the problem, the best one first."""
        solution = instance.data.get("solution")
        if isinstance(solution, str) and solution:
            yield solution
        if instance.answer:
            yield instance.answer

    @property
    def judges_records(self) -> bool:
        """Whether it has a `judge_record` of its own, which can tell right from wrong."""
        return type(self).judge_record is not Domain.judge_record

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether the answer of a training record is right; None if that is unknown."""
        return None

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """A training record as a problem that can be tried, or None if it cannot be judged.

        Here, with its output as the gold answer, if that solves it. Otherwise the environment reads
        gold answers in another form, and would call every reply wrong. A chat record, which is one
        with tools, is not a problem here.
        """
        problem = self.question_of_record(record)
        if problem is None or not isinstance(record, SupervisedDatum):
            return None
        try:
            return problem if self.judge(problem, record.output) else None
        except Exception:  # noqa: BLE001  an environment may trip over a problem that is not its own
            return None

    def question_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """A record's question as a problem, with the output as it stands for its gold answer.

        None if the record has a system message, or turns or tools, that are not the prompt's.
        """
        plain = self.prompt_template.unframe(record)
        if not isinstance(plain, SupervisedDatum) or plain.system or plain.history:
            return None
        return TaskInstance(
            id=record.provenance.id or "record",
            task="records",
            instruction=plain.prompt[-1].content,
            answer=plain.output,
        )
