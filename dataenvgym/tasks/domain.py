"""A domain: how problems of one kind are posed and judged, whatever their source.

A task is a source of problems and a domain. Policies, engines, quality checks and evaluation use
the domain and do not know its scorer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    LabeledAnswer,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
    all_hold,
)
from dataenvgym.records.tool_formats import as_reply, said_in
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
from dataenvgym.tasks.words import words_of


class Domain(ABC):
    """How problems are posed, judged, compared and taught; only `make_environment` is required.

    Attributes:
        prompt_template: the text around an instruction in a prompt.
        answer_form: instructs a model that sees a bare question how to write its answer, so that
            `answer_class` can read it and majority votes find equal answers; "" if replies to a
            bare question cannot be compared.
        has_tools: whether tool results are needed, so that a question with an answer does not show
            how a problem is solved.
        asks_others: False if its environments ask no other model; then the task refuses `others`,
            except a judge, which an engine may ask.
        word_runs_identify: whether a record with 13 consecutive words of a problem, or of its gold
            answer, gives it away. False if different problems share such runs, as grids of digits
            do; then only `overlap_key` and the whole text count.
    """

    prompt_template: PromptTemplate = PLAIN
    answer_form: str = ""
    has_tools: bool = False
    asks_others: bool = True
    word_runs_identify: bool = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for old, new in {"told": "teacher_context", "gold_complaints": "gold_errors"}.items():
            if old in vars(cls):
                raise ConfigurationError(
                    f"{cls.__qualname__}.{old} is the old name of a hook, which is called "
                    f"{new} now: rename it"
                )

    @abstractmethod
    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        """A new environment for one problem at a time; called from several threads."""

    def check_ready(self) -> None:  # noqa: B027 - most domains need nothing
        """Raise ConfigurationError if something that judging needs is missing."""

    def close(self) -> None:  # noqa: B027 - most domains hold nothing
        """Release the resources used for judging."""

    # --- posing and judging a problem ---

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
        """Named scores of several finished problems together, for scores that are not means.

        Reports show them, e.g. a macro F1, beside the means of `Outcome.scores`, overall and by
        skill. The default has none.

        Args:
            completed: at least one, none with an error; their order must not matter.
        """
        return {}

    def remark(self, completed: Sequence[CompletedTaskInstance]) -> str | None:
        """A warning about finished problems whose scores do not tell what happened; or None."""
        return None

    def text_of(self, instance: TaskInstance) -> str:
        """The problem as one text for teachers, with everything that the student is given.

        The default is the instruction.
        """
        return instance.instruction

    def characters(self, instance: TaskInstance) -> tuple[str, str]:
        """The names of the student's character and of the other one, for a judge of a dialogue."""
        return "agent1", "agent2"

    # --- what teachers read ---

    @property
    def teacher_context(self) -> str:
        """The text for a teacher about all problems; the default is the system message."""
        return self.prompt_template.system

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The student's reply to a problem; None if it never answered.

        The default is its last message.
        """
        return last_reply(completed)

    def gold_text(self, instance: TaskInstance) -> str | None:
        """The gold answer in the form of a record's output, or None."""
        return instance.answer

    # --- comparing ---

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """A short text of the answer that a reply gives; None if it gives none.

        The default is all that the reply says, without surrounding space.
        """
        return said_in(reply).strip() or None

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        """The answer of a finished try, comparable with `answer_class`.

        The default is the answer in its last message.
        """
        reply = last_reply(completed)
        return None if reply is None else self.answer_class(completed.instance, said_in(reply))

    def has_answer(self, completed: CompletedTaskInstance) -> bool | None:
        """Whether a finished try gives an answer; None in a domain where any reply is one.

        The default asks `answer_given`, if the domain has an `answer_class` of its own.
        """
        if type(self).answer_class is Domain.answer_class:
            return None
        return self.answer_given(completed) is not None

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool:
        """Whether two different results of `answer_class` are equal answers, like 1/2 and 0.5."""
        return one == other

    def gives(self, instance: TaskInstance, reply: str, right: str) -> bool | None:
        """Whether a reply gives the answer `right` of `answer_class`; None if that is unknown."""
        given = self.answer_class(instance, reply)
        return given is not None and (given == right or self.same_answer(instance, right, given))

    def overlap_key(self, text: str) -> str:
        """A key that two texts share if they pose the same problem; by default, words and digits.

        Case, punctuation, spacing and the Unicode form of a letter do not count.
        """
        return " ".join(words_of(text))

    def overlap_answer(self, instance: TaskInstance) -> str | None:
        """The gold answer; a training record must not repeat 13 words of it in a row.

        The default is all of it; None if answers to different problems share long runs of words.
        """
        return instance.answer

    # --- records ---

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """Put a record written by an engine into the prompt of the task.

        Its instruction is a problem in the form of `text_of`; by default, it fills the template.
        """
        return self.prompt_template.frame(record)

    def unframe(self, record: TrainingDatum) -> TrainingDatum:
        """Remove the text that all prompts of the task share; the inverse of `frame`."""
        return self.prompt_template.unframe(record)

    @property
    def record_forms(self) -> tuple[str, ...]:
        """The forms of records that a teacher may write, the best one first.

        They are those of prompts (`Prompt.form`): "" is a question with its answer. The default
        depends on `has_tools`.
        """
        return ("tool",) if self.has_tools else ("",)

    def record_fault(self, record: TrainingDatum) -> str | None:
        """Why a framed record must not be trained on, in one word; None if there is no such reason.

        The record is dropped, and counted under that word.
        """
        return None

    def gold_record(self, instance: TaskInstance) -> SupervisedDatum | ChatDatum | None:
        """A record that solves the problem, or None.

        Its answer is the first of the `ways_to_answer` that `judge` accepts.

        Raises:
            ConfigurationError: if nothing can be judged, e.g. without a sandbox or a speaker.
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

    def gold_errors(self, instances: Sequence[TaskInstance]) -> Sequence[str | None]:
        """For each problem, why its own gold answer does not solve it, or None.

        Sources that read files ask when they load, if judging is cheap.
        """
        return [
            f"its own gold answer does not solve it: {instance.answer!r:.200}"
            if instance.answer and not self.judge(instance, instance.answer)
            else None
            for instance in instances
        ]

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        """The gold answer written as replies that may solve the problem, the best one first."""
        solution = instance.data.get("solution")
        if isinstance(solution, str) and solution:
            yield solution
        if instance.answer:
            yield instance.answer

    @property
    def judges_records(self) -> bool:
        """Whether it overrides `judge_record` or `judge_answer`: it can tell right from wrong."""
        kind = type(self)
        in_all = kind.judge_record is not Domain.judge_record
        return in_all or kind.judge_answer is not Domain.judge_answer

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether a training record is right; None if that is unknown.

        By default, all its answers must be what it says of them: right, or rejected and wrong.
        """
        return all_hold([one.holds(self.judge_answer(one)) for one in record.answers()])

    def judge_answer(self, answer: LabeledAnswer) -> bool | None:
        """Whether an answer in a training record is right; None if that is unknown."""
        return None

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """A training record as a problem that can be tried, or None if it cannot be judged.

        By default, the output becomes the gold answer, if it solves that problem. If it does not,
        the environment reads gold answers in another form and would call every reply wrong. A chat
        record, such as one with tools, does not become a problem by default.
        """
        problem = self.question_of_record(record)
        if problem is None or not isinstance(record, SupervisedDatum):
            return None
        try:
            return problem if self.judge(problem, record.output) else None
        except Exception:  # noqa: BLE001  an environment may fail on a problem that is not its own
            return None

    def question_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """A record's question as a problem, with its unchanged output as the gold answer.

        None if the record has a system message, turns or tools that differ from the prompt's.
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


def last_reply(completed: CompletedTaskInstance) -> str | None:
    """The student's last message with its calls, as text that parses back to this message.

    None if the student never answered.
    """
    ours = (m for m in reversed(completed.transcript) if m.role == "assistant")
    last = next(ours, None)
    return None if last is None else as_reply(last)
