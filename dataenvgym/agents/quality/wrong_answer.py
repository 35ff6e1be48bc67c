"""Drops records with wrong answers, judged by the task or by a teacher's majority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from pydantic import PositiveInt

from dataenvgym.agents.quality.already_known import refuse_gone, warn_of_idle_check
from dataenvgym.errors import BudgetSpentError, ConfigurationError, DataEnvGymError
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TeacherInterface,
)
from dataenvgym.options import Given
from dataenvgym.records import LabeledAnswer, TaskInstance, TrainingDatum, all_hold
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain, gives
from dataenvgym.tasks.metrics.answers import classes_of, sameness_of
from dataenvgym.teachers.prompts import Prompt, PromptLike, as_prompt


@dataclass(eq=False)
class WrongAnswerCheck:
    """Also drops records with wrong answers, judged by the task or a teacher's majority.

    A record fails if one of its answers is not as it says: right, or wrong.

    A record claims that its answer is right; a preference record, that the chosen answer is right
    and the rejected one is wrong; a KTO record, that its answer is right if it is `desirable`, else
    wrong.

    The task's domain judges, if it can judge this record (`judge_record`). Otherwise the teacher,
    if there is one, solves the problem up to `samples` times. If more than half of the samples have
    the same answer, as the domain reads and compares answers, it counts as right.
    A record that cannot be judged passes. If the reason is a failed question, a spent budget, or a
    domain that cannot compare answers (it has no `answer_form`), a warning counts the record.

    Args:
        task: the task whose domain reads and compares answers, and may judge records.
        teacher: solves problems that the task cannot judge, or None.
        samples: the most times that the teacher solves a problem; it stops at a majority.
        temperature, max_tokens: of the teacher's replies.
        prompt: for the teacher, with the problem as `{instruction}` and the domain's
            `{answer_form}`. A prompt without `{answer_form}` must describe a form itself.
        needs_judge: refuse a combination without any judge.
        seed: of the teacher's samples.

    Raises:
        ConfigurationError: for impossible options, or without a judge if `needs_judge`.
    """

    reason = "wrong_answer"

    task: Task
    teacher: TeacherInterface | None = None
    _: KW_ONLY
    samples: PositiveInt = 5
    temperature: float = 0.7
    max_tokens: int = 1024
    prompt: PromptLike = "solve"
    needs_judge: bool = True
    seed: Given[int] = 0

    def __post_init__(self) -> None:
        self._sampling = SamplingParameters(
            temperature=self.temperature, max_tokens=self.max_tokens
        )
        self._question = as_prompt(self.prompt, needs=("instruction",), may=("answer_form",))
        self._no_majority = _no_majority(self.task, self.teacher, self._question)
        judges = (type(part.domain).judge_record for part in self.task.parts.values())
        judges_none = all(judge is Domain.judge_record for judge in judges)
        if self.needs_judge and self._no_majority and judges_none:
            raise ConfigurationError(
                "quality check wrong_answer: nothing judges the records. Task "
                f"{self.task.name!r} has no judge_record, and {self._no_majority}; or leave the "
                "check out (quality=none)"
            )

    def passes(
        self, records: Sequence[TrainingDatum], predictor: PredictorInterface
    ) -> list[bool | Failure]:
        verdicts: list[bool | Failure | None] = []
        for record in records:
            try:
                verdicts.append(self.task.domain_of(record.provenance).judge_record(record))
            except ConfigurationError:
                raise
            except DataEnvGymError as error:
                verdicts.append(Failure(reason=f"{type(error).__name__}: {error}"))
        open_at = [i for i, verdict in enumerate(verdicts) if not isinstance(verdict, bool)]
        if self.teacher is not None and open_at:
            found = self._by_majority(self.teacher, [records[i] for i in open_at])
            for i, verdict in zip(open_at, found, strict=True):
                if isinstance(verdict, bool) or verdicts[i] is None:
                    verdicts[i] = verdict
        warn_of_idle_check(self.reason, records, sum(verdict is not None for verdict in verdicts))
        return [True if verdict is None else verdict for verdict in verdicts]

    def _by_majority(
        self, teacher: TeacherInterface, records: Sequence[TrainingDatum]
    ) -> list[bool | Failure | None]:
        """For each record, True if its answers are as labeled; None without a majority."""
        labeled = [[(one, _problem(one)) for one in record.answers()] for record in records]
        if self._no_majority:
            return [Failure(reason=self._no_majority) if some else None for some in labeled]
        problems = {
            text: TaskInstance(
                id="record", task=record.provenance.task or self.task.name, instruction=text
            )
            for record, some in zip(records, labeled, strict=True)
            for _, text in some
        }
        solved = self._solved(teacher, problems)
        found: list[bool | Failure | None] = []
        for some in labeled:
            rights = [(one, problems[text], solved[text]) for one, text in some]
            held = (
                one.holds(gives(self.task.domain_of(problem), problem, one.text, right))
                if isinstance(right, str)
                else None
                for one, problem, right in rights
            )
            verdict = all_hold([*held])
            failures = (right for *_, right in rights if isinstance(right, Failure))
            found.append(next(failures, None) if verdict is None else verdict)
        return found

    def _solved(
        self, teacher: TeacherInterface, problems: Mapping[str, TaskInstance]
    ) -> dict[str, str | Failure | None]:
        """Find the majority answer to each problem; None if there is none.

        Asks again while a problem has no majority. A problem without a majority is a failure if one
        of its questions failed.
        """
        given: dict[str, list[str]] = {text: [] for text in problems}
        solved: dict[str, str | None] = dict.fromkeys(problems)
        failures: dict[str, Failure] = {}
        for number in range(self.samples):
            left = [text for text in problems if solved[text] is None]
            replies = self._asked(teacher, [problems[text] for text in left], number)
            for text, reply in zip(left, replies, strict=True):
                if isinstance(reply, Failure):
                    failures.setdefault(text, reply)
                    continue
                try:
                    answer = self.task.domain_of(problems[text]).answer_class(
                        problems[text], reply.text
                    )
                except DataEnvGymError:  # the problem cannot be judged by an answer alone
                    continue
                if answer is not None:
                    given[text].append(answer)
                    same = sameness_of(self.task, problems[text])
                    found, votes = classes_of(given[text], same)
                    most = max(range(len(found)), key=votes.count)
                    if votes.count(most) > self.samples / 2:
                        solved[text] = found[most]
            if all(isinstance(reply, Failure) for reply in replies):
                break
        return {p: failures.get(p) if answer is None else answer for p, answer in solved.items()}

    def _asked(
        self, teacher: TeacherInterface, problems: Sequence[TaskInstance], number: int
    ) -> Sequence[Reply | Failure]:
        """The teacher's replies in this round, one for each problem."""
        seed = derive_seed(self.seed, "wrong_answer", number)
        sampling = self._sampling.model_copy(update={"seed": seed})
        forms = [self.task.domain_of(problem).answer_form for problem in problems]
        conversations = [
            self._question.render(instruction=problem.instruction, answer_form=form)
            for problem, form in zip(problems, forms, strict=True)
        ]
        try:
            outcomes = teacher.ask(conversations, sampling, purpose="quality") if problems else []
            errors = [o.reason if isinstance(o, Failure) else None for o in outcomes]
            refuse_gone(
                lambda greeting: teacher.ask(greeting, sampling, purpose="quality"),
                errors,
                who="the teacher",
            )
        except BudgetSpentError as error:
            return [Failure(reason=str(error) or "the budget is spent")] * len(problems)
        return outcomes


def _no_majority(task: Task, teacher: TeacherInterface | None, prompt: Prompt) -> str | None:
    """Why a teacher's majority cannot judge any record, and what to do; None if it can."""
    if teacher is None:
        return "there is no teacher: choose one, such as teacher=openai teacher.model=NAME"
    has_form = any(part.domain.answer_form for part in task.parts.values())
    if "answer_form" in prompt.names and not has_form:
        return (
            "its domain has no `answer_form`, so a teacher's answers cannot be compared: give it "
            "one, or give the check your own prompt that says how to answer "
            "(quality.checks.wrong_answer.prompt)"
        )
    return None


def _problem(answer: LabeledAnswer) -> str:
    """The prompt as one text: its only message, or all messages with their roles."""
    said = [f"{message.role}: {message.content}" for message in answer.prompt]
    return answer.question if len(said) == 1 else "\n\n".join(said)
