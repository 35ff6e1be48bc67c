"""A domain: how problems of one kind are posed and judged, whatever their source.

A task is a source of problems and a domain. Policies, engines, quality checks and evaluation use
the domain and do not know its scorer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TypeVar

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    LabeledAnswer,
    PerformanceReport,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
    all_hold,
)
from dataenvgym.records.tool_formats import as_reply, said_in
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
from dataenvgym.tasks.reports import report_on
from dataenvgym.tasks.words import words_of

DomainT = TypeVar("DomainT", bound="Domain")


class Domain(ABC):
    """How problems are posed, judged, compared and taught; only `make_environment` is required.

    Problems that take several messages have a `DialogueDomain`.

    Attributes:
        prompt_template: the text around an instruction in a prompt.
        answer_form: instructs a model that sees a bare question how to write its answer, so that
            `answer_class` can read it and majority votes find equal answers; "" if replies to a
            bare question cannot be compared.
        record_forms: the forms of records that a teacher may write, the best one first. They are
            those of prompts (`Prompt.form`): "" is a question with its answer; "tool" is for
            problems that cannot be solved without tools, so each record must have calls.
        asks_others: False if its environments ask no other model; then the task refuses `others`,
            except a judge, which an engine may ask.
        word_runs_identify: what a record gives away if it has 13 consecutive words of it: a
            "problem", or its gold "answer". Leave out what different problems share, such as grids
            of digits; then only `overlap_key` and the whole text count.
    """

    prompt_template: PromptTemplate = PLAIN
    answer_form: str = ""
    record_forms: tuple[str, ...] = ("",)
    asks_others: bool = True
    word_runs_identify: tuple[str, ...] = ("problem", "answer")

    @abstractmethod
    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        """A new environment for one problem at a time; called from several threads.

        Raises:
            ConfigurationError: if something that judging needs is missing.
        """

    def close(self) -> None:  # noqa: B027 - most domains hold nothing
        """Release the resources used for judging."""

    def prompt(self, instance: TaskInstance) -> Conversation:
        """The conversation that the student sees first."""
        with closing(self.make_environment()) as environment:
            conversation, _ = environment.reset(seed=0, options={"instance": instance})
            return conversation

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        """The report on finished problems of a task.

        The default counts the replies without an answer, if the domain has an `answer_class` of its
        own. Override it for scores that are not means over problems (see `report_on`).
        """
        return report_on(task, completed, has_answer=partial(has_answer, self))

    # --- comparing ---

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """A short text of the answer that a reply gives; None if it gives none.

        The default is all that the reply says, without surrounding space.
        """
        return said_in(reply).strip() or None

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool | None:
        """Whether two different results of `answer_class` are equal answers, like 1/2 and 0.5.

        None if that is unknown.
        """
        return one == other

    def overlap_key(self, text: str) -> str:
        """A key that two texts share if they pose the same problem; by default, words and digits.

        Case, punctuation, spacing and the Unicode form of a letter do not count.
        """
        return " ".join(words_of(text))

    # --- records ---

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """Put a record written by an engine into the prompt of the task.

        Its instruction is a problem as teachers read it; by default, it fills the template.
        """
        return self.prompt_template.frame(record)

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        """The gold answer written as replies that may solve the problem, the best one first."""
        solution = instance.data.get("solution")
        if isinstance(solution, str) and solution:
            yield solution
        if instance.answer:
            yield instance.answer

    def gold_record(self, instance: TaskInstance) -> SupervisedDatum | ChatDatum | None:
        """A record that solves the problem, or None.

        Its answer is the first of the `ways_to_answer` that the environment accepts.

        Raises:
            ConfigurationError: if nothing can be judged, e.g. without a sandbox or a speaker.
        """
        try:
            prompt = self.prompt(instance)
            ways = (w for w in self.ways_to_answer(instance) if solves(self, instance, w))
            output = next(ways, None)
        except ConfigurationError:
            raise
        except DataEnvGymError:
            return None
        fields = prompt_fields(prompt)
        if fields is None or not output:
            return None
        return SupervisedDatum(
            **fields, output=output, provenance=Provenance(skill=instance.skill, task=instance.task)
        )

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """A training record as a problem that can be tried, or None if it cannot be judged.

        By default, the output becomes the gold answer, if it solves that problem. If it does not,
        the environment reads gold answers in another form and would call every reply wrong. A chat
        record, such as one with tools, does not become a problem by default.
        """
        problem = question_of(record, self.prompt_template)
        if problem is None or not isinstance(record, SupervisedDatum):
            return None
        try:
            return problem if solves(self, problem, record.output) else None
        except Exception:  # noqa: BLE001  an environment may fail on a problem that is not its own
            return None

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether all answers in a record are what it says of them: right, or rejected and wrong.

        None if that is unknown, as it is by default.
        """
        return None


def solves(domain: Domain, instance: TaskInstance, reply: str) -> bool:
    """Whether `reply`, as the student's first message, solves the problem.

    Raises:
        DataEnvGymError: if it cannot be judged.
    """
    with closing(domain.make_environment()) as environment:
        environment.reset(seed=0, options={"instance": instance})
        *_, info = environment.step(reply)
        return bool(info["was_correct"])


def gold_errors(domain: Domain, instances: Sequence[TaskInstance]) -> Sequence[str | None]:
    """For each problem, why its own gold answer does not solve it, or None."""
    return [
        f"its own gold answer does not solve it: {instance.answer!r:.200}"
        if instance.answer and not solves(domain, instance, instance.answer)
        else None
        for instance in instances
    ]


def gives(domain: Domain, instance: TaskInstance, reply: str, right: str) -> bool | None:
    """Whether a reply gives the answer `right` of `answer_class`; None if that is unknown."""
    given = domain.answer_class(instance, reply)
    return given is not None and (given == right or domain.same_answer(instance, right, given))


def has_answer(domain: Domain, completed: CompletedTaskInstance) -> bool | None:
    """Whether the last message gives an answer; None in a domain where any reply is one."""
    if type(domain).answer_class is Domain.answer_class:
        return None
    reply = last_reply(completed)
    return reply is not None and domain.answer_class(completed.instance, said_in(reply)) is not None


def each_answer(
    is_right: Callable[[DomainT, LabeledAnswer], bool | None],
) -> Callable[[DomainT, TrainingDatum], bool | None]:
    """Make a `judge_record` from a method that judges one answer; None is unknown."""

    def judge_record(domain: DomainT, record: TrainingDatum) -> bool | None:
        return all_hold([one.holds(is_right(domain, one)) for one in record.answers()])

    return judge_record


def question_of(
    record: SupervisedDatum | ChatDatum, template: PromptTemplate
) -> TaskInstance | None:
    """A record's question as a problem, with its unchanged output as the gold answer.

    None if the record has a system message, turns or tools that differ from the prompt's.
    """
    plain = template.unframe(record)
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
