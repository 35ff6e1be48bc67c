"""Retention: part of the budget restores skills that the student has forgotten.

Training on new records makes a student forget. The policy remembers each skill's best accuracy; a
share of the records goes to skills that have fallen below it, in proportion to the fall. Another
policy plans the rest. If skills are hidden, it remembers instances instead: those that were once
right and are wrong now (forgetting events) are the examples.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np
from pydantic import JsonValue, NonNegativeFloat

from dataenvgym.agents.policies.plain import accuracy, by_skill
from dataenvgym.interfaces import Stateful
from dataenvgym.options import Share
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.records.plans import Assignment, Plan, Policy, Situation, apportion, policy_fit


class _Loss(NamedTuple):
    """A forgotten skill: its fall in accuracy, and the instances that are wrong now."""

    fall: float
    skill: str | None
    examples: tuple[CompletedTaskInstance, ...]


@dataclass(eq=False)
class RetentionPolicy:
    """Adds a share of records for forgotten skills to the plan of `policy`.

    Args:
        policy: plans the rest; everything, if nothing is forgotten.
        share: the largest share of the records for forgotten skills, in [0, 1].
        tolerance: a fall in accuracy of at most this much does not count.

    Attributes:
        full_at: the summed fall at which all of `share` is used (accuracy, summed over skills; for
            instances, the share of forgotten ones); a smaller fall uses it in proportion.
    """

    policy: Policy
    _: KW_ONLY
    share: Share = 0.2
    full_at: ClassVar[float] = 1.0
    tolerance: NonNegativeFloat = 0.1

    def __post_init__(self) -> None:
        self.fit = policy_fit(self.policy)
        self._best: dict[str, float] = {}
        self._solved: set[str] = set()

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        losses = self._losses(situation)
        fallen = sum(loss.fall for loss in losses)
        kept = round(count * self.share * min(1.0, fallen / self.full_at))
        counts = apportion(np.array([loss.fall for loss in losses]), kept) if kept else []
        plan = self.policy.plan(situation, count - kept, rng) if kept < count else ()
        return plan + tuple(
            Assignment(n, skill=loss.skill, examples=loss.examples)
            for loss, n in zip(losses, counts, strict=False)
            if n
        )

    def _losses(self, situation: Situation) -> list[_Loss]:
        """Find what was forgotten, by skill or else by instance, and update the best results."""
        tried = [c for c in situation.completed if c.error is None]
        if all(c.instance.skill is None for c in tried):
            lost = [c for c in tried if not c.was_correct and c.instance.id in self._solved]
            self._solved |= {c.instance.id for c in tried if c.was_correct}
            return [_Loss(1.0 / len(tried), None, (c,)) for c in lost]
        losses = []
        for skill, group in by_skill(tried, "retention").items():
            now = accuracy(group)
            best = self._best[skill] = max(now, self._best.get(skill, 0.0))
            if best - now > self.tolerance + 1e-9:
                wrong = tuple(c for c in group if not c.was_correct)
                losses.append(_Loss(best - now, skill, wrong))
        return losses

    def state_dict(self) -> dict[str, JsonValue]:
        state: dict[str, JsonValue] = {"best": dict(self._best), "solved": [*sorted(self._solved)]}
        if isinstance(self.policy, Stateful):
            state["policy"] = self.policy.state_dict()
        return state

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._best = dict(cast("dict[str, float]", state["best"]))
        self._solved = set(cast("list[str]", state["solved"]))
        inner = state.get("policy")
        if isinstance(self.policy, Stateful) and isinstance(inner, dict):
            self.policy.load_state_dict(inner)
