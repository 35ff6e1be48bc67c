"""A domain: how problems of one kind are posed and judged, whatever their source.

A task is a source of problems and a domain. Policies, engines, quality checks and evaluation use
the domain and do not know its scorer.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from math import fsum
from typing import Any, TypeVar

from dataenvgym.errors import ConfigurationError, DataEnvGymError, EvaluationError
from dataenvgym.events import warn_run
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    LabeledAnswer,
    PerformanceReport,
    Provenance,
    SkillReport,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
    all_hold,
    checked_scores,
)
from dataenvgym.records.instances import count_faults
from dataenvgym.records.tool_formats import as_reply, said_in
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
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


CorpusScores = Callable[[Sequence[CompletedTaskInstance]], Mapping[str, float]]
"""Named scores of several instances together: at least one instance, none with an error."""

HasAnswer = Callable[[CompletedTaskInstance], bool | None]

MOST_UNREAD = 0.2
"""The largest share of replies without an answer of which a user is not warned."""

_log = logging.getLogger(__name__)


def report_on(
    task: str,
    completed: Sequence[CompletedTaskInstance],
    corpus_scores: CorpusScores = lambda scored: {},
    has_answer: HasAnswer = lambda completed: None,
) -> PerformanceReport:
    """Mean reward, accuracy, no-answer rate, named scores and corpus scores, overall and by skill.

    Instances with an error are left out. The mean of a named score is over the instances that have
    it. Skills with the same category and name are merged; they are sorted by both. Instances
    without a gold skill are under "". The order of `completed` does not matter.

    Args:
        corpus_scores: scores that are not means over instances, such as a macro F1 (see
            `Domain.report`); they replace a mean of the same name.
        has_answer: whether an instance has an answer; None where any reply is one. Where it fails,
            the message counts as the answer.

    Raises:
        EvaluationError: if there are no instances, all have an error, or a corpus score is not a
            finite number.
    """
    if all(c.error is not None for c in completed):
        reason = f"; the first one: {completed[0].error}" if completed else ""
        raise EvaluationError(
            f"task {task!r}: none of {len(completed)} instances could be scored{reason}"
        )
    answered = {id(c): _has_answer(c, has_answer) for c in completed if c.error is None}
    figures = partial(_figures, corpus_scores=corpus_scores, answered=answered)
    groups: defaultdict[tuple[str, str], list[CompletedTaskInstance]] = defaultdict(list)
    for c in completed:
        groups[c.instance.category or "", c.instance.skill or ""].append(c)
    return PerformanceReport(
        task=task,
        **figures(completed),
        skills=tuple(
            SkillReport(skill=skill, category=category or None, **figures(group))
            for (category, skill), group in sorted(groups.items())
        ),
    )


def warn_of_unread(report: PerformanceReport, answer_forms: Iterable[str]) -> None:
    """Warn the user if many replies of a student that was not trained give no answer.

    Args:
        answer_forms: of the task's domains.
    """
    rate, read = report.no_answer_rate, report.answered_score
    if rate is None or rate <= MOST_UNREAD:
        return
    others = "" if read is None else f", and {read:.3f} among the others"
    warn_run(
        f"{rate:.0%} of the student's replies give no answer that can be read: its score is "
        f"{report.score:.3f}{others}. Training on such replies teaches mostly their form. Ask for "
        "the form in the prompt, in task.template or task.system_prompt, or show solved problems "
        f"with task.examples. {' '.join(filter(None, dict.fromkeys(answer_forms)))}".rstrip()
    )


def _figures(
    completed: Sequence[CompletedTaskInstance],
    corpus_scores: CorpusScores,
    answered: Mapping[int, bool | None],
) -> dict[str, Any]:
    """The fields that the report of a task and that of a skill share."""
    scored = [c for c in completed if c.error is None]
    named: defaultdict[str, list[float]] = defaultdict(list)
    for c in scored:
        for name, value in c.scores.items():
            named[name].append(value)
    means = {name: fsum(values) / len(values) for name, values in named.items()}
    of_all = checked_scores(corpus_scores(scored), "corpus_scores()") if scored else {}
    known = [has for c in scored if (has := answered[id(c)]) is not None]
    read = [c.reward for c in scored if answered[id(c)]]
    return {
        # fsum: the same score to the last bit, in any order
        "score": fsum(c.reward for c in scored) / len(scored) if scored else None,
        "accuracy": sum(c.was_correct for c in scored) / len(scored) if scored else None,
        "n": len(completed),
        "n_errors": len(completed) - len(scored),
        "scores": dict(sorted((means | of_all).items())),
        "faults": count_faults(completed),
        "no_answer_rate": known.count(False) / len(known) if known else None,
        "answered_score": fsum(read) / len(read) if read else None,
    }


def _has_answer(completed: CompletedTaskInstance, has_answer: HasAnswer) -> bool | None:
    try:
        return has_answer(completed)
    except Exception as error:  # noqa: BLE001  errors of a task's code must not lose the score
        _log.warning("has_answer failed for %s", completed.instance.id, exc_info=error)
        return True
