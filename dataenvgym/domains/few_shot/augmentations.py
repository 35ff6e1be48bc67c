"""Augmentations of grids, and of problems: changes that all grids of a problem undergo.

    symmetries   rotations, flips, transposition; they have an inverse
    basic        the symmetries, grids with their reflection, and a random translation
    size         doubled resolution, height or width
    chain        a symmetry, then doubled resolution
    repeat       the grid twice along axis 0 or 1, or along both
    colors       a random permutation of the colors, except color 0; it has an inverse

The groups are those of Akyürek et al. (arXiv:2411.07279) and SEAL (arXiv:2506.10943). A result that
is larger than a grid may be is dropped.

Here are also a student's self-edits: choices of augmentations and training for one problem (SEAL).
An edit that cannot be read, or that asks for too much training, is not left out: it fails, with 0
epochs, and the student stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field, ValidationError

from dataenvgym.domains.few_shot.problem import (
    LARGEST,
    Cells,
    FewShotProblem,
    Grid,
    Pair,
    cells_of,
    grid_of,
)
from dataenvgym.errors import first_fault
from dataenvgym.records import Model
from dataenvgym.records.model import Finite
from dataenvgym.teachers.repair import json_in

Change = Callable[[Cells], Cells]
Group = Literal["basic", "size", "chain", "repeat"]
_SHIFTS = 4
"""A translation moves grids by less than this many cells."""


@dataclass(frozen=True)
class Augmentation:
    """A change of grids; `inverse` undoes it, and is None if nothing does."""

    name: str
    change: Change
    inverse: Change | None = None

    def applied(self, grid: Grid) -> Grid:
        """The changed grid."""
        return grid_of(self.change(cells_of(grid)))

    def of_pair(self, pair: Pair) -> Pair | None:
        """The pair with both grids changed; None if one of them becomes too large."""
        changed = [self.change(cells_of(grid)) for grid in (pair.input, pair.output)]
        if max(max(cells.shape) for cells in changed) > LARGEST:
            return None
        given, output = map(grid_of, changed)
        return Pair.model_construct(input=given, output=output)  # checked: it is fast

    def undone(self, grid: Grid) -> Grid:
        """The grid that `applied` changes to this one."""
        assert self.inverse is not None, self.name
        return grid_of(self.inverse(cells_of(grid)))


def _rotated(times: int) -> Change:
    return lambda cells: np.rot90(cells, times)


def _antitransposed(cells: Cells) -> Cells:
    return np.rot90(cells, 2).T


def _doubled(height: int, width: int) -> Change:
    return lambda cells: cells.repeat(height, axis=0).repeat(width, axis=1)


def _then_doubled(change: Change) -> Change:
    return lambda cells: _doubled(2, 2)(change(cells))


SYMMETRIES: Mapping[str, Augmentation] = {
    name: Augmentation(name, change, inverse)
    for name, change, inverse in (
        ("rotate-90", _rotated(1), _rotated(3)),
        ("rotate-180", _rotated(2), _rotated(2)),
        ("rotate-270", _rotated(3), _rotated(1)),
        ("flip-0", np.flipud, np.flipud),
        ("flip-1", np.fliplr, np.fliplr),
        ("transpose", np.transpose, np.transpose),
        ("antitranspose", _antitransposed, _antitransposed),
    )
}
"""The symmetries of the square, except the identity."""
_PUBLISHED = {name: one for name, one in SYMMETRIES.items() if name != "antitranspose"}
_OTHERS: Mapping[str, Mapping[str, Change]] = {
    "basic": {
        "reflect-0": lambda cells: np.concatenate([cells, np.flipud(cells)]),
        "reflect-1": lambda cells: np.concatenate([cells, np.fliplr(cells)], 1),
        "reflect-0-first": lambda cells: np.concatenate([np.flipud(cells), cells]),
        "reflect-1-first": lambda cells: np.concatenate([np.fliplr(cells), cells], 1),
    },
    "size": {"resolution": _doubled(2, 2), "height": _doubled(2, 1), "width": _doubled(1, 2)},
    "chain": {f"{n}, resolution": _then_doubled(one.change) for n, one in _PUBLISHED.items()},
    "repeat": {
        "repeat-0": lambda cells: np.tile(cells, (2, 1)),
        "repeat-1": lambda cells: np.tile(cells, (1, 2)),
        "repeat-both": lambda cells: np.tile(cells, (2, 2)),
    },
}
"""Of each group, the augmentations without an inverse."""
GROUPS: tuple[Group, ...] = get_args(Group)


def augmentations_of(group: Group, rng: np.random.Generator) -> tuple[Augmentation, ...]:
    """The augmentations of a group; `rng` draws the translation, which belongs to "basic"."""
    found = [Augmentation(name, change) for name, change in _OTHERS[group].items()]
    if group != "basic":
        return tuple(found)
    shift = tuple(rng.integers(0, _SHIFTS, 2).tolist())
    translate = Augmentation("translate", partial(np.roll, shift=shift, axis=(0, 1)))
    return (*_PUBLISHED.values(), *found, translate)


def permuted_colors(rng: np.random.Generator) -> Augmentation:
    """A random permutation of the colors 1 to 9."""
    colors = np.array([0, *(1 + rng.permutation(9))])
    return Augmentation(
        "colors", lambda cells: colors[cells], lambda cells: np.argsort(colors)[cells]
    )


Strategy = Literal["train_using_all_tokens", "train_using_output_tokens"]
Example = tuple[Pair, ...]
"""Demonstrations, and then the pair to solve."""
MOST_EXAMPLES = 250
MOST_STEPS = 375
BATCH_SIZE = 2
"""Of the published experiments, for counting steps."""


class DataGeneration(Model):
    """The groups of augmentations to use."""

    use_basic_augmentations: Annotated[bool, Field(strict=True)]
    use_size_augmentations: Annotated[bool, Field(strict=True)]
    use_chain_augmentations: Annotated[bool, Field(strict=True)]
    use_repeat_augmentations: Annotated[bool, Field(strict=True)]

    @classmethod
    def of(cls, groups: Sequence[Group]) -> DataGeneration:
        """The use of these groups."""
        return cls.model_validate({f"use_{g}_augmentations": g in groups for g in GROUPS})

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(group for group in GROUPS if getattr(self, f"use_{group}_augmentations"))


class Training(Model):
    """How to train on the examples: the loss is on all tokens, or on those of the outputs."""

    strategy: Strategy
    learning_rate: Annotated[Finite, Field(ge=0, strict=True)]
    num_train_epochs: Annotated[int, Field(ge=0, strict=True)]


class SelfEdit(Model):
    """A self-edit; `failure` says why it is not carried out, and is "" if it is."""

    data_generation: DataGeneration
    training: Training
    failure: str = ""

    def failed(self, reason: str) -> SelfEdit:
        """The same edit with 0 epochs."""
        training = self.training.model_copy(update={"num_train_epochs": 0})
        return self.model_copy(update={"training": training, "failure": reason})

    def for_examples(self, n_examples: int) -> SelfEdit:
        """The edit, or the failed edit if it takes too many steps on so many examples."""
        steps = self.training.num_train_epochs * n_examples // BATCH_SIZE
        if steps <= MOST_STEPS:
            return self
        return self.failed(f"it takes {steps} steps, more than {MOST_STEPS}")


NOTHING = SelfEdit(
    data_generation=DataGeneration.of(()),
    training=Training(strategy="train_using_output_tokens", learning_rate=0.0, num_train_epochs=0),
)
"""An edit without augmentations and training."""


def read_self_edit(text: str) -> SelfEdit:
    """The first JSON object in a reply as a self-edit; a failed one if it is not one."""
    found: Any = next((value for value in json_in(text) if isinstance(value, dict)), None)
    if found is None:
        return NOTHING.failed("there is no JSON object")
    try:
        return SelfEdit.model_validate({k: v for k, v in found.items() if k != "failure"})
    except ValidationError as error:
        return NOTHING.failed(first_fault(error))


def examples_of(
    problem: FewShotProblem, groups: Sequence[Group], rng: np.random.Generator
) -> list[Example]:
    """Examples made of the demonstrations, at most 250, all different, in random order.

    One demonstration is to be solved; all others are shown, or all but one. These tasks are used as
    they are, and under each augmentation of the groups. Each also occurs with the demonstrations in
    another order, and with permuted colors if there is an augmentation. A task with a grid that
    becomes too large is dropped. A problem with one demonstration gives no example.
    """
    plain = problem.demonstrations
    changed = [
        [augmentation.of_pair(pair) for pair in plain]
        for group in groups
        for augmentation in augmentations_of(group, rng)
    ]
    kept = [
        example
        for pairs in (plain, *changed)
        for places in _left_out(len(plain))
        if None not in (example := tuple(pairs[place] for place in places))
    ]
    examples: dict[Example, None] = {}
    for number in rng.permutation(2 * len(kept)).tolist():
        example = kept[number // 2]
        if number % 2:
            example = _shuffled(example, rng, recolored=bool(groups))
        examples[example] = None
        if len(examples) == MOST_EXAMPLES:
            break
    return list(examples)


def _left_out(count: int) -> Iterator[tuple[int, ...]]:
    """The places of the shown demonstrations and, last, of the one to solve."""
    for held in range(count):
        others = [place for place in range(count) if place != held]
        for n_shown in (count - 1, count - 2):
            if n_shown > 0:
                yield from ((*shown, held) for shown in combinations(others, n_shown))


def _shuffled(example: Example, rng: np.random.Generator, *, recolored: bool) -> Example:
    *shown, last = example
    pairs = [*(shown[place] for place in rng.permutation(len(shown)).tolist()), last]
    if recolored:
        colors = permuted_colors(rng)
        pairs = [changed for pair in pairs if (changed := colors.of_pair(pair)) is not None]
    return tuple(pairs)
