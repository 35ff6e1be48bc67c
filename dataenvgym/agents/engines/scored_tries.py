"""Scored records from the student's own tries: each turn has a weight from the try's reward."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from pydantic import NonNegativeFloat

from dataenvgym.agents.engines.self_teaching import SelfTeachingEngine
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import Ask, PredictorInterface, Reply
from dataenvgym.options import Share
from dataenvgym.records import CompletedTaskInstance, Conversation, ScoredDatum, TrainingDatum
from dataenvgym.records.plans import Plan
from dataenvgym.records.tool_formats import as_reply, said_in
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.judging import Unscored, dialogue_text
from dataenvgym.tasks.judging.published import name_indexes
from dataenvgym.tasks.judging.turns import NamedTurn, judge_turns
from dataenvgym.tasks.record_conversion import scored_record_of, students_turns
from dataenvgym.tasks.rollouts import StudentSpeaker
from dataenvgym.tasks.rollouts.driver import answered_together
from dataenvgym.tasks.turn_scores import (
    DISCOUNT,
    NORMALIZATION,
    Normalization,
    has_difference,
    turn_scores,
    turn_weights,
)
from dataenvgym.teachers.prompts import Prompt, PromptLike, as_prompt

TURN_VALUES = ("who", "partner", "goal", "dialogue", "history", "score", "turns", "most")
"""The values that a judge's question about turns may have."""


def judge_of(task: Task) -> PredictorInterface | None:
    """The task's speaker "judge", if it has one; ConfigurationError if that is the student."""
    judge = task.others.get("judge")
    if isinstance(judge, StudentSpeaker):
        raise ConfigurationError(
            "task.others.judge is the student itself, which does not judge its own turns: choose "
            "another model, or set agent.engine.name_turns=false"
        )
    return judge


def named_turns(
    judge: PredictorInterface,
    played: Sequence[tuple[CompletedTaskInstance, Sequence[int]]],
    *,
    task: Task | None = None,
    most: int | None = None,
    prompt: Prompt | str = "social_turns",
    several: bool = True,
) -> list[tuple[NamedTurn, ...] | Unscored]:
    """Ask a judge for turns of each conversation; it sees the reward as a score of 0 to 10.

    Args:
        played: finished tries, each with the places of the student's turns in its transcript.
        task: names the characters for prompts with `{who}` and `{partner}`.
        most: the most turns that it can name; None allows all.
        prompt: for which turns: one with `{dialogue}` (see `judge_turns`), or with `{history}` (see
            `judging.published`), which has the score of the task's goal, or else the reward.
        several: whether a prompt with `{history}` asks for several turns, or for one.

    Returns:
        For each try, the named turns by their place in the transcript, or why there are none.
    """

    def ask(
        done: CompletedTaskInstance, turns: Sequence[int]
    ) -> Generator[Ask, Reply, tuple[NamedTurn, ...] | Unscored]:
        said = [
            (m.role, said_in(as_reply(m)) if m.role == "assistant" else m.content)
            for m in done.transcript
        ]
        if "history" in words.names:
            who, partner = "agent1", "agent2"
            domain = task and task.domain_of(done.instance)
            if isinstance(domain, DialogueDomain):
                who, partner = domain.characters(done.instance)
            found = yield from name_indexes(
                words,
                done.transcript[: turns[-1] + 1] if turns else (),
                turns,
                score=done.scores.get("goal", done.reward) if several else None,
                several=several,
                most=most,
                who=who,
                partner=partner,
                may_fail=True,
            )
            if isinstance(found, Unscored):
                return found
            return tuple(NamedTurn(turn=turn, reason="") for turn in found)
        named = yield from judge_turns(
            who="the assistant",
            goal=done.instance.instruction,
            dialogue=dialogue_text(said),
            turns=[place + 1 for place in turns],  # the judge sees them numbered from 1
            score=10 * done.reward,
            most=None if most is None else min(most, len(turns)),
            prompt=words,
            may_fail=True,
        )
        if isinstance(named, Unscored):
            return named
        return tuple(NamedTurn(turn=one.turn - 1, reason=one.reason) for one in named)

    words = as_prompt(prompt, may=TURN_VALUES)
    return answered_together([ask(*each) for each in played], {"judge": judge})


@dataclass(kw_only=True, eq=False)
class JudgedTriesEngine(SelfTeachingEngine):
    """The student's tries, whose turns the task's speaker "judge" may name.

    Args:
        name_turns: ask the judge, if the task has one.
        repeat: play problems again in later iterations, with the current student.
    """

    name = ""  # in warnings

    name_turns: bool = True
    repeat: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.judge = judge_of(self.task) if self.name_turns else None
        self.records_per_problem = self.samples
        self.learns_once = not self.repeat
        self._lost = LostTries(self.name)

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        self._lost = LostTries(self.name)
        records = super().generate(plan, predictor, rng)
        self._lost.warn(records)
        return records


@dataclass(kw_only=True, eq=False)
class ScoredTriesEngine(JudgedTriesEngine):
    """Scored records (policy gradient, EPO): a weight for each turn of the student's own tries.

    The score of a try's last turn is its reward. If the task has a speaker "judge", it names the
    turns of each right try that were critical for achieving the goal; these score 1. It is not
    asked about other tries: a turn that lost the goal must not be learned. Weights are discounted
    sums of the scores that follow (see `tasks.turn_scores`). An episode repeats this: the student
    plays, its turns are scored, it is trained, it plays again.

    Failed tries, and tries without a verdict of the judge, have no record; the run warns about
    them.

    Args:
        discount: the factor on a turn's score for each turn before it, in 0..1.
        normalize: divide weights by the largest absolute value of the `group`, which is the tries
            at one problem, or of the `dialogue`, as EPO does, or by the sample standard deviation
            of the group's rewards (`deviation`, with `baseline`), or not at all (`none`).
        baseline: subtract the mean reward of the problem's tries from each reward, so that tries
            below the mean get negative weights. With normalize=deviation, discount=1 and
            name_turns=False, each turn's weight is the advantage of its try, as in GRPO.
        name_turns: ask the judge, if the task has one, for critical turns.
        turn_prompt: the judge's question about turns, by name: social_turns, or epo_turns with the
            words of EPO's code. Like any prompt with `{history}`, which shows the score, that one
            is asked about all tries, as EPO does.
        least_deviation: leave out the tries at a problem if the sample standard deviation of their
            rewards is not above this value; 0 leaves out equal rewards only (DAPO's dynamic
            sampling). None leaves out nothing.

    Attributes:
        least_group: with `least_deviation`, the smallest number of tries that is learned from.
    """

    name = "scored_tries"
    least_group = 2

    discount: Share = DISCOUNT
    normalize: Normalization = NORMALIZATION
    baseline: bool = False
    turn_prompt: PromptLike = "social_turns"
    least_deviation: NonNegativeFloat | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalize == "deviation" and not self.baseline:
            raise ConfigurationError(
                "normalize is 'deviation' and baseline is False, expected True: set baseline=true"
            )
        self._turn_prompt = as_prompt(self.turn_prompt, may=TURN_VALUES)

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[ScoredDatum]:
        return self.learn_all([tries])[0]

    def learn_all(
        self, problems: Sequence[Sequence[CompletedTaskInstance]]
    ) -> list[Sequence[ScoredDatum]]:
        prompts = [self.task.prompt(tries[0].instance) for tries in problems]
        played = [
            [(done, students_turns(done, prompt)) for done in tries if self._lost.keeps(done)]
            for tries, prompt in zip(problems, prompts, strict=True)
        ]
        named: dict[int, tuple[int, ...] | None] = {}  # by id of the try; None without a verdict
        if self.judge is not None:
            # a prompt with the score is about all tries
            asks_about_all = "history" in self._turn_prompt.names
            judged = [
                (done, turns)
                for tries in played
                for done, turns in tries
                if done.was_correct or asks_about_all
            ]
            verdicts = named_turns(
                self.judge,
                judged,
                task=self.task,
                most=None,
                prompt=self._turn_prompt,
            )
            for (done, turns), verdict in zip(judged, verdicts, strict=True):
                if isinstance(verdict, Unscored):
                    self._lost.unscored.append(verdict.reason)
                    named[id(done)] = None
                else:
                    named[id(done)] = tuple(turns.index(one.turn) for one in verdict)
        found = [[(*one, named.get(id(one[0]), ())) for one in tries] for tries in played]
        return [
            self._records([(d, t, n) for d, t, n in tries if n is not None], prompt)
            for tries, prompt in zip(found, prompts, strict=True)
        ]

    def is_trained_on(self, rewards: Sequence[float]) -> bool:
        """True if the rewards of a problem's tries differ enough; counts the group if not."""
        self._lost.n_groups += 1
        if self.least_deviation is None or has_difference(
            rewards, least_group=self.least_group, least_deviation=self.least_deviation
        ):
            return True
        self._lost.n_flat += 1
        return False

    def _records(
        self,
        tries: Sequence[tuple[CompletedTaskInstance, Sequence[int], tuple[int, ...]]],
        prompt: Conversation,
    ) -> list[ScoredDatum]:
        """Make the records of one problem, of its tries with their turns, and the named ones."""
        rewards = [done.reward for done, *_ in tries]
        if not tries or not self.is_trained_on(rewards):
            return []
        mean = fmean(rewards) if self.baseline else 0.0
        scores = [turn_scores(len(turns), named, d.reward - mean) for d, turns, named in tries]
        weights = turn_weights(scores, discount=self.discount, normalize=self.normalize)
        records = (
            scored_record_of(done, each, prompt)
            for (done, *_), each in zip(tries, weights, strict=True)
        )
        return [record for record in records if record is not None]


class LostTries:
    """Counts the tries of an iteration that gave no record, and warns the user why."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.n_tries = self.n_groups = self.n_flat = 0
        self.failed: list[str] = []
        self.unscored: list[str] = []
        self.astray: list[str] = []

    def keeps(self, done: CompletedTaskInstance) -> bool:
        """True if a try has a score; counts the try as failed if not."""
        self.n_tries += 1
        if done.error is not None:
            self.failed.append(done.error)
        return done.error is None

    def warn(self, records: Sequence[TrainingDatum]) -> None:
        """Warn the user of the run about lost tries, and if nothing can be learned."""
        lost = [
            f"{len(reasons)} {what} (the last one: {reasons[-1]})"
            for what, reasons in (
                ("failed", self.failed),
                ("have no verdict of the judge", self.unscored),
                ("cannot be compared", self.astray),
            )
            if reasons
        ]
        if lost:
            warn_run(
                f"{self.engine}: of {self.n_tries} tries, {' and '.join(lost)}; they are left out"
            )
        if self.n_flat:
            warn_run(
                f"{self.engine}: of {self.n_groups} groups of tries, {self.n_flat} are too small "
                "or have almost equal rewards; they have no record"
            )
        if self.n_tries and not records:
            warn_run(f"{self.engine}: {self.n_tries} tries gave no record")
        scored = [record for record in records if isinstance(record, ScoredDatum)]
        if scored and not any(weight for record in scored for weight in record.weights):
            warn_run(
                f"{self.engine}: all weights of {len(scored)} records are 0, so nothing is "
                "learned from them: the tries at each problem have the same reward, or all have 0"
            )
