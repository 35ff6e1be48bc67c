"""Pairs of segments: a try that lacked something, and the best continuation from a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from dataenvgym.agents.engines.branched_tries import BranchedTriesEngine, conversation_key
from dataenvgym.agents.engines.scored_tries import TURN_VALUES, judge_of
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import (
    Failure,
    ForwardingPredictor,
    PredictorInterface,
    Reply,
    SamplingParameters,
)
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    PreferenceDatum,
    TrainingDatum,
)
from dataenvgym.records.plans import Plan
from dataenvgym.tasks.judging import Unscored
from dataenvgym.tasks.judging.published import end_segment
from dataenvgym.tasks.record_conversion import segment_preference_of, students_turns
from dataenvgym.tasks.rollouts.driver import answered_together
from dataenvgym.teachers.prompts import PromptLike, as_prompt, default_prompt


@dataclass(kw_only=True, eq=False)
class SegmentPairsEngine(BranchedTriesEngine):
    """Pairs of segments (SDPO): a try, and the best continuation from the turn a judge names.

    The student plays a problem. If the try lacks something, the task's judge names the turn to
    improve, and the student plays on from there, `samples` - 1 times. The best of these is compared
    with the first try; if it is better, the judge says which turns made it so, from the named one
    on, and these are preferred to as many turns of the first try. The replies of other speakers
    before the named turn are remembered, so they may be drawn at random. Source: Kong et al., 2025,
    "SDPO: Segment-Level Direct Preference Optimization for Social Agents".

    Args:
        samples: plays of each problem, 2 or more: one whole, the others from the named turn on.
        rank_by: the scores that decide which play is better, the first of them before the others,
            such as [goal, relationship]. Empty: the reward.
        improvable: a try is improved if one of these scores is at most this value, such as
            {goal: 7, relationship: 2}. None: if its reward is below 1.
        most_negatives: the most tries that are improved of problems with the same text, in an
            iteration. Problems of one scene and seat, with other characters, have the same text;
            SDPO's code takes 3 of them. None: no limit.
        name_turns: ask the judge for the turn; False draws it at random.
        turn_prompt: the judge's question about the turn: with `{history}` in the words of SDPO's
            code, or with `{dialogue}` in ours (social_error_turn).
        segment: the number of the student's turns in a segment, or "tail" for as many as both plays
            have. None: the judge ends it.
        repeat: play problems again in later iterations, with the current student.
    """

    name = "segment_pairs"

    rank_by: Sequence[str] = ()
    improvable: Mapping[str, float] | None = None
    most_negatives: PositiveInt | None = None
    turn_prompt: PromptLike = "sdpo_turn"
    segment: PositiveInt | Literal["tail"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.records_per_problem = 1
        self._negatives: Counter[str] = Counter()  # by text of the problem
        self._turn_prompt = as_prompt(self.turn_prompt, may=TURN_VALUES)
        self.ends = judge_of(self.task) if self.segment is None else None
        if self.segment is None and self.ends is None:
            raise ConfigurationError(
                "the judge ends a segment, and the task has no judge: add one "
                "(+teacher@task.others.judge=openai task.others.judge.model=NAME), or set "
                "agent.engine.segment=tail"
            )
        self._unimproved = 0

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        self._unimproved = 0
        self._negatives.clear()
        records = super().generate(plan, predictor, rng)
        if self._unimproved:
            warn_run(
                f"{self.name}: {self._unimproved} tries were not improved by any of "
                f"{self.samples - 1} continuations; they have no record"
            )
        return records

    def speakers(self, others: Mapping[str, PredictorInterface]) -> dict[str, PredictorInterface]:
        return {name: RememberingPredictor(speaker) for name, speaker in others.items()}

    def is_improvable(self, done: CompletedTaskInstance) -> bool:
        if self.improvable is None:
            lacks = super().is_improvable(done)
        else:
            lacks = any(_score(done, name) <= most for name, most in self.improvable.items())
        text = done.instance.instruction
        self._negatives[text] += lacks
        most = self.most_negatives
        return lacks and (most is None or self._negatives[text] <= most)

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[PreferenceDatum]:
        return self.learn_all([tries])[0]

    def learn_all(
        self, problems: Sequence[Sequence[CompletedTaskInstance]]
    ) -> list[Sequence[PreferenceDatum]]:
        """Make a pair of each problem whose try was improved."""
        found: list[Sequence[PreferenceDatum]] = [()] * len(problems)
        pairs = {}
        for i, tries in enumerate(problems):
            alike = self.alike(tries)
            if len(alike) < 2:
                continue
            first, *branches = alike
            best = max(branches, key=self._rank)  # the first of equal ones
            if self._rank(best) > self._rank(first):
                pairs[i] = first, best
            else:
                self._unimproved += 1
        for (i, (first, best)), n_turns in zip(pairs.items(), self._lengths(pairs), strict=True):
            if isinstance(n_turns, Unscored):
                self._lost.unscored.append(n_turns.reason)
                continue
            place = self._branched_at[first.instance.id]
            if pair := segment_preference_of(best, first, place, n_turns):
                found[i] = (pair,)
            else:
                self._lost.astray.append("the two segments are equal, or a reply is empty")
        return found

    def _rank(self, done: CompletedTaskInstance) -> tuple[float, ...]:
        return tuple(_score(done, name) for name in self.rank_by) or (done.reward,)

    def _lengths(
        self, pairs: Mapping[int, tuple[CompletedTaskInstance, CompletedTaskInstance]]
    ) -> Sequence[int | Unscored | None]:
        """The number of turns of each segment; None is as many as both tries have."""
        if self.segment is not None:
            n_turns = None if self.segment == "tail" else self.segment
            return [n_turns] * len(pairs)
        asks, turns, words = [], [], default_prompt("sdpo_segment")
        for first, best in pairs.values():
            place = self._branched_at[first.instance.id]
            turns.append([i for i in students_turns(best) if i >= place])
            original, better = (d.transcript[: students_turns(d)[-1] + 1] for d in (first, best))
            asks.append(end_segment(words, original, better, turns[-1], may_fail=True))
        assert self.ends is not None
        ends = answered_together(asks, {"judge": self.ends})
        return [
            end if isinstance(end, Unscored) else places.index(end) + 1
            for end, places in zip(ends, turns, strict=True)
        ]


def _score(done: CompletedTaskInstance, name: str) -> float:
    if name not in done.scores:
        raise ConfigurationError(
            f"a try has the scores {sorted(done.scores)}, expected {name!r} among them: change "
            "agent.engine.rank_by and agent.engine.improvable, or let the task score it "
            f"(task.dimensions=[goal,{name}] in social scenes)"
        )
    return done.scores[name]


class RememberingPredictor(ForwardingPredictor):
    """A speaker that gives the reply to a conversation again when the same one is continued."""

    def __init__(self, speaker: PredictorInterface) -> None:
        super().__init__(speaker)
        self._said: dict[tuple[str, ...], Reply] = {}

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """Return the earlier reply to each conversation, or a new one."""
        keys = [(*conversation_key(c), str(sampling.json_schema)) for c in conversations]
        new = [i for i, key in enumerate(keys) if key not in self._said]
        found: dict[int, Reply | Failure] = {
            i: self._said[key] for i, key in enumerate(keys) if key in self._said
        }
        if new:
            found |= zip(
                new, super().predict([conversations[i] for i in new], sampling), strict=True
            )
        for i in new:
            if isinstance(reply := found[i], Reply):
                self._said.setdefault(keys[i], reply)
        return [found[i] for i in range(len(keys))]
