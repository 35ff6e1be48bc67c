"""Scored records from the student's own tries: each turn has a weight from the try's reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from dataenvgym.agents.engines.lost_tries import LostTries
from dataenvgym.agents.engines.named_turns import judge_of, named_turns
from dataenvgym.agents.engines.self_teaching import SelfTeachingEngine
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.judging import Unscored
from dataenvgym.plans import Plan
from dataenvgym.records import CompletedTaskInstance, Conversation, ScoredDatum, TrainingDatum
from dataenvgym.tasks.lessons import scored_record_of, students_turns
from dataenvgym.tasks.turn_scores import DISCOUNT, Normalization, turn_scores, turn_weights


class ScoredTriesEngine(SelfTeachingEngine):
    """Writes a scored record of each try, good or bad, for a policy gradient.

    The score of a try's last turn is its reward. If the task has a speaker "judge", the turns that
    it names score 1. Weights are discounted sums of the scores that follow (see
    `tasks.turn_scores`). An episode repeats this: the student plays, its turns are scored, it is
    trained, it plays again.

    Failed tries, and tries without a verdict of the judge, have no record; the run warns about
    them.

    Args:
        task, samples, temperature, tries: see `SelfTeachingEngine`.
        discount: the factor on a turn's score for each turn before it, in 0..1.
        normalize: divide weights by the largest absolute value of the `dialogue`, or of the
            `group`, which is the tries at one problem, or not at all (`none`).
        baseline: subtract the mean reward of the problem's tries from each reward, so that tries
            below the mean get negative weights (as in GRPO).
        name_turns: ask the judge, if the task has one, which turns mattered.
        most_named: the most turns of a try that the judge can name; None allows all.
        repeat: play problems again in later iterations, with the current student.
    """

    def __init__(
        self,
        task: TaskInterface,
        *,
        samples: int = 8,
        temperature: float = 1.0,
        tries: int = 4,
        discount: float = DISCOUNT,
        normalize: Normalization = "group",
        baseline: bool = False,
        name_turns: bool = True,
        most_named: int | None = None,
        repeat: bool = True,
    ) -> None:
        super().__init__(task, samples=samples, temperature=temperature, tries=tries)
        turn_weights([[1.0]], discount=discount, normalize=normalize)  # refuses impossible values
        if most_named is not None and most_named < 1:
            raise ConfigurationError(f"most_named is {most_named}, expected 1 or more, or null")
        self.discount = discount
        self.normalize: Normalization = normalize
        self.baseline = baseline
        self.most_named = most_named
        self.judge = judge_of(self.task) if name_turns else None
        self.records_per_problem = samples
        self.learns_once = not repeat
        self._lost = LostTries("scored_tries")

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the records of the plan, up to `samples` of each problem."""
        self._lost = LostTries("scored_tries")
        records = super().generate(plan, predictor, rng)
        self._lost.warn(records)
        return records

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[ScoredDatum]:
        """Make the records of the tries at one problem."""
        return self.learn_all([tries])[0]

    def learn_all(
        self, problems: Sequence[Sequence[CompletedTaskInstance]]
    ) -> list[Sequence[ScoredDatum]]:
        """Make the records of several problems; ask the judge about all of them at once."""
        prompts = [self.task.domain.prompt(tries[0].instance) for tries in problems]
        played = [
            [_Try(done, students_turns(done, prompt)) for done in tries if self._lost.keeps(done)]
            for tries, prompt in zip(problems, prompts, strict=True)
        ]
        self._name_turns([one for tries in played for one in tries])
        return [
            self._records([one for one in tries if one.named is not None], prompt)
            for tries, prompt in zip(played, prompts, strict=True)
        ]

    def _name_turns(self, played: Sequence[_Try]) -> None:
        """Ask the judge for the turns that mattered, if there is one."""
        if self.judge is None:
            for one in played:
                one.named = ()
            return
        asked = [(one.done, one.turns) for one in played]
        verdicts = named_turns(self.judge, asked, most=self.most_named)
        for one, verdict in zip(played, verdicts, strict=True):
            if isinstance(verdict, Unscored):
                self._lost.unscored.append(verdict.reason)
            else:
                one.named = tuple(one.turns.index(named.turn) for named in verdict)

    def _records(self, tries: Sequence[_Try], prompt: Conversation) -> list[ScoredDatum]:
        """Make the records of one problem."""
        if not tries:
            return []
        mean = fmean(one.done.reward for one in tries) if self.baseline else 0.0
        scores = [
            turn_scores(len(one.turns), one.named or (), one.done.reward - mean) for one in tries
        ]
        weights = turn_weights(scores, discount=self.discount, normalize=self.normalize)
        records = (
            scored_record_of(one.done, each, prompt)
            for one, each in zip(tries, weights, strict=True)
        )
        return [record for record in records if record is not None]


@dataclass
class _Try:
    """A try with a score, the indices of the student's turns, and the named ones among them.

    `named` is None without a verdict.
    """

    done: CompletedTaskInstance
    turns: Sequence[int]
    named: tuple[int, ...] | None = None
