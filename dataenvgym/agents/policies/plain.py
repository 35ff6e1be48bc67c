"""The plain policies plan records from the student's results.

- `RandomPolicy` spreads the records at random over the engine's skills and ignores the student.
- `OpenEndedPolicy` models each record on an instance that the student got wrong.
- `SkillListPolicy` gives more records to skills with lower accuracy; it may choose a few skills.
- `FreePolicy` gives only the number of records, for engines that choose by themselves.

Instances whose call failed are neither right nor wrong, and no policy learns from them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt, Le
from pydantic import NonNegativeFloat, PositiveInt

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.records.plans import (
    Assignment,
    Plan,
    PolicyFit,
    Situation,
    apportion,
    warn_of_cut,
)

Groups = dict[str, list[CompletedTaskInstance]]


class RandomPolicy:
    """Draws the skill of each record uniformly from the engine's skills."""

    fit = PolicyFit(tells="skills", needs_engine_skills=True)

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        drawn = Counter(rng.choice(len(situation.skills), count).tolist())
        return tuple(Assignment(drawn[i], skill=situation.skills[i]) for i in sorted(drawn))


@dataclass(kw_only=True, eq=False)
class OpenEndedPolicy:
    """Models records on the student's errors, which take turns in random order.

    The errors take turns in random order, so their numbers of records differ by one at most. If
    there are no errors, all instances take turns.

    Args:
        per_error: the number of records for each error, in place of a number in all. With more than
            `agent.records_per_iteration` in all, it draws as many errors as fit, with a warning.
            Without errors there is no plan.
        together: the number of errors in one assignment, with the records of all of them: an engine
            can then write more records in a request than it shows errors
            (`agent.engine.examples_per_request`).
    """

    per_error: PositiveInt | None = None
    together: PositiveInt = 1

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        tried = [c for c in situation.completed if c.error is None]
        models = [c for c in tried if not c.was_correct]
        models = models or ([] if self.per_error is not None else tried)
        if not models:
            return ()
        order = rng.permutation(len(models)).tolist()
        if self.per_error is not None:
            drawn = order[: max(1, count // self.per_error)]
            if len(drawn) < len(order):
                warn_of_cut(len(order) * self.per_error, len(drawn) * self.per_error, count)
            order, count = drawn, len(drawn) * self.per_error
        turns = Counter(order[i % len(order)] for i in range(count))
        taken = [i for i in order if turns[i]]
        groups = (taken[k : k + self.together] for k in range(0, len(taken), self.together))
        return tuple(
            Assignment(sum(turns[i] for i in group), examples=tuple(models[i] for i in group))
            for group in groups
        )


@dataclass(kw_only=True, eq=False)
class SkillListPolicy:
    """Gives each skill a share: (1 - accuracy + floor) ** sharpness, or a number of records.

    A skill's share is `(1 - accuracy + floor) ** sharpness`, normalized; the largest remainders
    round it to whole records. With `per_skill` or `per_error` it has that many records; with more
    than `agent.records_per_iteration` in all, the plan is cut.

    Args:
        sharpness: 0 spreads evenly, 1 in proportion to the errors; more favors the weakest.
        floor: keeps some records for skills without errors.
        choose: which skills get records: "all"; "most_common", those with the most instances;
            "highest_error", those with the lowest accuracy; "random_below", drawn at random from
            those with an accuracy under `below`, or the weakest if there is none. Ties are broken
            by name.
        skills: how many skills to choose at most; ignored with "all".
        below: "random_below" draws skills with an accuracy under this; above 0, at most 1.
        per_skill: the number of records for each chosen skill.
        per_error: the number of records for each error in a chosen skill; instead of `per_skill`.
        most_per_skill: the most records for a skill, however the numbers were found.
    """

    fit = PolicyFit(needs_skills=True)

    sharpness: NonNegativeFloat = 1.0
    floor: NonNegativeFloat = 0.02
    choose: Literal["all", "most_common", "highest_error", "random_below"] = "all"
    skills: PositiveInt = 1
    below: Annotated[float, Gt(0), Le(1)] = 0.8
    per_skill: PositiveInt | None = None
    per_error: PositiveInt | None = None
    most_per_skill: PositiveInt | None = None

    def __post_init__(self) -> None:
        if self.per_skill is not None and self.per_error is not None:
            raise ConfigurationError("per_skill and per_error are both set, expected one of them")

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        groups = self._chosen(by_skill(situation.completed, "skill_list"), rng)
        if self.per_skill is not None:
            counts = [self.per_skill] * len(groups)
        elif self.per_error is not None:
            errors = (sum(not c.was_correct for c in group) for group in groups.values())
            counts = [self.per_error * n for n in errors]
        else:
            weakness = [1.0 - accuracy(group) + self.floor for group in groups.values()]
            counts = apportion(np.array(weakness) ** self.sharpness, count)
        if (most := self.most_per_skill) is not None:
            planned, counts = sum(counts), [min(n, most) for n in counts]
            warn_of_cut(planned, sum(counts), most, "agent.policy.most_per_skill")
        return skill_plan(groups, counts)

    def _chosen(self, groups: Groups, rng: np.random.Generator) -> Groups:
        """The groups of the skills that get records, in the order of `groups`."""
        if self.choose == "all":
            return groups
        if self.choose == "most_common":
            order = sorted(groups, key=lambda skill: -len(groups[skill]))
        else:
            order = sorted(groups, key=lambda skill: accuracy(groups[skill]))
        if self.choose == "random_below":
            weak = [skill for skill in order if accuracy(groups[skill]) < self.below]
            order = [weak[int(i)] for i in rng.permutation(len(weak))] or order[:1]
        chosen = set(order[: self.skills])
        return {skill: group for skill, group in groups.items() if skill in chosen}


class FreePolicy:
    """Gives only the number of records; the engine chooses."""

    fit = PolicyFit(tells="counts")

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        return (Assignment(count),)


def by_skill(completed: Sequence[CompletedTaskInstance], policy: str) -> Groups:
    """Group the instances by skill, sorted, without those whose call failed.

    If no instance has a skill, a ConfigurationError names the policy.
    """
    groups: defaultdict[str, list[CompletedTaskInstance]] = defaultdict(list)
    for c in completed:
        if c.error is None and c.instance.skill is not None:
            groups[c.instance.skill].append(c)
    if not groups:
        raise ConfigurationError(
            f"the {policy} policy needs instances with a skill, and none has one; "
            "use environment=skill_list and a task with gold skills, or skills=clusters"
        )
    return {skill: groups[skill] for skill in sorted(groups)}


def accuracy(group: Sequence[CompletedTaskInstance]) -> float:
    """The share of correct instances; there is at least one, and none with a failed call."""
    return sum(c.was_correct for c in group) / len(group)


def skill_plan(
    groups: Mapping[str, Sequence[CompletedTaskInstance]], counts: Sequence[int]
) -> Plan:
    """Plan `counts` records for the groups, with the student's errors as examples.

    A skill without errors has all its instances as examples, so that an engine that does not know
    the skill's name can still see it.
    """
    return tuple(
        Assignment(n, skill=skill, examples=[c for c in group if not c.was_correct] or group)
        for (skill, group), n in zip(groups.items(), counts, strict=True)
        if n
    )


def at_most(plan: Plan, count: int) -> Plan:
    """Cut the plan to `count` records, in proportion, with a warning."""
    counts = [assignment.count for assignment in plan]
    if (planned := sum(counts)) <= count:
        return plan
    warn_of_cut(planned, count, count)
    cut = apportion(np.array(counts, float), count)
    return tuple(one.of(n) for one, n in zip(plan, cut, strict=True) if n)
