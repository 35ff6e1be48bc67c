"""The policies of `SkillTree-v0`: they choose which skills to explore and which to exploit.

- `AlternatingPolicy` explores and exploits in turns.
- `FillBalancedPolicy` fills every subskill up to the same number of records.
- `RandomTreePolicy` draws its moves, and ignores the student.
- `ThresholdPolicy` exploits the skills whose last move paid, and explores the others.
- `ConfigurableTreePolicy` follows its options, for every skill alike.

`LLMTreePolicy` (in `llm_policy`) asks a teacher. A tree without subskills cannot be exploited, so
all but the configurable policy explore it at any turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from annotated_types import Len
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from dataenvgym.agents.tree.situation import TreeSituation, opening, reallocated, records_asked_for
from dataenvgym.environments.skill_tree.actions import Exploit, Explore, TreeAction
from dataenvgym.environments.skill_tree.forest import Forest, Tree
from dataenvgym.errors import ConfigurationError
from dataenvgym.options import Share
from dataenvgym.records.plans import apportion


@dataclass(kw_only=True, eq=False)
class AlternatingPolicy:
    """SkillTree: explores and exploits in turns (odd and even iterations).

    Exploring opens `subskills` of each tree that has none, and of the `widen` weakest of the other
    trees that may have more. Exploiting resets the last step's allocations.

    If `informed`, the records of the step go to weak skills: the weight of each tree is
    `(1 - accuracy + floor) ** sharpness`, and so is that of each subskill within its tree. If not,
    an exploration gives `records_each` to new subskills, and an exploitation nothing.

    Args:
        most_per_skill: if not `informed`: a tree that has this many records gets no more.
        subskills: subskills to open in a tree at a time.
        records_each: records for each new subskill, if not `informed`.
        widen: see above; None widens every tree.
        informed: see above.
        sharpness: 0 spreads evenly, 1 in proportion to the errors; more favors the weakest.
        floor: the weight of subskills without errors.
        own: weight of a subskill's own accuracy, in [0, 1]; the rest is its skill's accuracy, which
            is estimated from more instances.
    """

    subskills: PositiveInt = 3
    records_each: NonNegativeInt = 5
    widen: NonNegativeInt | None = 2
    informed: bool = True
    sharpness: NonNegativeFloat = 1.0
    floor: NonNegativeFloat = 0.02
    own: Share = 0.5
    most_per_skill: PositiveInt | None = None

    def __post_init__(self) -> None:
        if self.informed and self.most_per_skill is not None:
            raise ConfigurationError(
                "most_per_skill is set, and informed is true, which gives each skill a share of "
                "the step's records: set informed=false, or leave most_per_skill out"
            )

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        forest = situation.forest
        explored = {tree.skill for tree in forest.trees if _is_bare(tree)}
        if situation.iteration % 2:
            others = [t for t in forest.trees if t.subskills and not t.is_complete]
            others.sort(key=_accuracy)
            explored |= {tree.skill for tree in others[: self.widen]}
        if self.informed:
            return self._informed(forest, explored, count)
        moves: list[Explore | Exploit] = []
        for tree in forest.trees:
            is_full = self.most_per_skill is not None and tree.generated >= self.most_per_skill
            if tree.skill in explored and not is_full:
                moves.append(_explore(tree, self.subskills, self.records_each))
            elif tree.subskills and (is_full or situation.iteration % 2 == 0):
                moves.append(reallocated(tree, {}))
        return tuple(moves)

    def _informed(self, forest: Forest, explored: set[str], count: int) -> TreeAction:
        trees = [tree for tree in forest.trees if tree.subskills or tree.skill in explored]
        if not trees:
            return ()
        shares = apportion(self._weights([_accuracy(tree) for tree in trees]), count)
        moves: list[Explore | Exploit | None] = []
        for tree, share in zip(trees, shares, strict=True):
            wider = opening(tree.skill, self.subskills, max(0, share - tree.allocation))
            if tree.skill in explored and (wider is not None or not tree.subskills):
                moves.append(wider)
            else:
                whole = (1 - self.own) * _accuracy(tree)
                accuracies = [
                    _accuracy(tree) if s.val_accuracy is None else self.own * s.val_accuracy + whole
                    for s in tree.subskills
                ]
                counts = apportion(self._weights(accuracies), share)
                names = [s.name for s in tree.subskills]
                moves.append(reallocated(tree, dict(zip(names, counts, strict=True))))
        action = tuple(move for move in moves if move is not None)
        # records left over by rounding: one more for each new subskill
        left = count - records_asked_for(forest, action)
        for i, move in enumerate(action):
            if isinstance(move, Explore) and move.subskills <= left:
                more = move.model_copy(update={"records_each": move.records_each + 1})
                action = (*action[:i], more, *action[i + 1 :])
                left -= move.subskills
        return action

    def _weights(self, accuracies: Sequence[float]) -> np.ndarray:
        weakness = 1.0 - np.array(accuracies) + self.floor
        return np.asarray(weakness**self.sharpness)


@dataclass(kw_only=True, eq=False)
class FillBalancedPolicy:
    """SkillTree: fills all subskills up to the same count.

    A subskill's new allocation is `min(maximum - generated, cap)`, and never below 0.

    Args:
        maximum: records for a subskill in all.
        cap: records for a subskill in one step.
        subskills: subskills to open in a tree that has none.
    """

    maximum: NonNegativeInt = 25
    cap: PositiveInt = 5
    subskills: PositiveInt = 3

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        moves: list[Explore | Exploit] = []
        for tree in situation.forest.trees:
            if _is_bare(tree):
                moves.append(_explore(tree, self.subskills, min(self.maximum, self.cap)))
            elif tree.subskills:
                fill = {
                    s.name: max(0, min(self.maximum - s.generated, self.cap))
                    for s in tree.subskills
                }
                moves.append(reallocated(tree, fill))
        return tuple(moves)


@dataclass(kw_only=True, eq=False)
class RandomTreePolicy:
    """SkillTree: explores or exploits each skill at random, and ignores the student.

    Args:
        explore: the probability of exploring a tree that has subskills and may have more.
        subskills: the most subskills opened at a time.
        active: the most subskills of a tree that an exploitation gives records to, those that have
            some now before others (as published); None for all.
        most_each: the most records for a subskill in a step: each number up to it, for new
            subskills from 1 on, is drawn alike (as published). None shares out all records of the
            iteration.
    """

    explore: Share = 0.5
    subskills: PositiveInt = 3
    active: PositiveInt | None = None
    most_each: PositiveInt | None = None

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        trees = [t for t in situation.forest.trees if t.subskills or not t.is_complete]
        if not trees:
            return ()
        moves: list[Explore | Exploit | None] = []
        for tree, share in zip(trees, _scattered(count, len(trees), rng), strict=True):
            explores = not tree.is_complete and rng.random() < self.explore
            if explores or not tree.subskills:
                n = int(rng.integers(1, self.subskills + 1))
                if self.most_each is None:
                    moves.append(opening(tree.skill, n, max(0, share - tree.allocation)))
                else:
                    moves.append(_explore(tree, n, int(rng.integers(1, self.most_each + 1))))
            else:
                names = [s.name for s in tree.subskills]
                if self.active is not None and self.active < len(names):
                    used = [s.name for s in tree.subskills if s.allocation]
                    rest = [s.name for s in tree.subskills if not s.allocation]
                    n = min(self.active, len(used))
                    names = rng.choice(used, n, replace=False).tolist()
                    names += rng.choice(rest, self.active - n, replace=False).tolist()
                if self.most_each is None:
                    counts = _scattered(share, len(names), rng)
                else:
                    counts = rng.integers(0, self.most_each + 1, len(names)).tolist()
                moves.append(reallocated(tree, dict(zip(names, counts, strict=True))))
        return tuple(move for move in moves if move is not None)


@dataclass(kw_only=True, eq=False)
class ThresholdPolicy:
    """SkillTree: exploits the skills whose last move paid, and explores the others.

    A skill that has no further subskills is exploited in any case.

    Args:
        threshold: a skill is exploited if its `reward` in the last step is above this.
        more: records added to each subskill of an exploited skill.
        subskills, records_each: what an exploration opens.
    """

    threshold: float = 0.01
    more: NonNegativeInt = 10
    subskills: PositiveInt = 5
    records_each: NonNegativeInt = 10

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        moves: list[Explore | Exploit] = []
        for tree in situation.forest.trees:
            paid = tree.last_move and (tree.reward or 0.0) > self.threshold
            if tree.subskills and (paid or tree.is_complete):
                changes = {s.name: self.more for s in tree.subskills}
                moves.append(Exploit(skill=tree.skill, changes=changes))
            elif not tree.is_complete:
                moves.append(_explore(tree, self.subskills, self.records_each))
        return tuple(moves)


Turn = Literal["explore", "exploit", "keep"]


@dataclass(kw_only=True, eq=False)
class ConfigurableTreePolicy:
    """Does the same to every tree: one turn of `pattern` in each iteration, in a cycle.

    Args:
        pattern: "explore" opens `subskills` with `records_each`; "exploit" changes the allocation
            of every subskill by `change`; "keep" changes nothing.
        subskills, records_each, change: see `pattern`.
        changes: values by skill name that replace `change`.
    """

    pattern: Annotated[Sequence[Turn], Len(1)] = ("explore", "keep")
    subskills: PositiveInt = 3
    records_each: NonNegativeInt = 5
    change: int = 0
    changes: Mapping[str, int] = field(default_factory=dict)

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        trees = situation.forest.trees
        match self.pattern[(situation.iteration - 1) % len(self.pattern)]:
            case "explore":
                return tuple(_explore(tree, self.subskills, self.records_each) for tree in trees)
            case "exploit":
                moves = []
                for tree in trees:
                    change = self.changes.get(tree.skill, self.change)
                    if tree.subskills:
                        changes = {s.name: change for s in tree.subskills}
                        moves.append(Exploit(skill=tree.skill, changes=changes))
                return tuple(moves)
            case _:
                return ()


def _is_bare(tree: Tree) -> bool:
    return not tree.subskills and not tree.is_complete


def _accuracy(tree: Tree) -> float:
    """The accuracy of the whole skill; one half if it is unknown because every call failed."""
    return 0.5 if tree.val_accuracy is None else tree.val_accuracy


def _explore(tree: Tree, subskills: int, records_each: int) -> Explore:
    return Explore(skill=tree.skill, subskills=subskills, records_each=records_each)


def _scattered(count: int, n: int, rng: np.random.Generator) -> list[int]:
    return [int(k) for k in rng.multinomial(count, np.full(n, 1 / n))]
