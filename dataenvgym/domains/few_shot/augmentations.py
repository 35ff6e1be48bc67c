"""Augmentations of grids, and of problems: changes that all grids of a problem undergo.

    symmetries   rotations, flips, transposition; they have an inverse
    basic        the symmetries, grids with their reflection, and a random translation
    size         doubled resolution, height or width
    chain        a symmetry, then doubled resolution
    repeat       the grid twice along axis 0 or 1, or along both
    colors       a random permutation of the colors, except color 0; it has an inverse

The groups are those of Akyürek et al. (arXiv:2411.07279) and SEAL (arXiv:2506.10943). A result that
is larger than a grid may be is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from dataenvgym.domains.few_shot.problem import LARGEST, Cells, Grid, Pair, cells_of, grid_of

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


def _doubled(height: int, width: int) -> Change:
    return lambda cells: cells.repeat(height, axis=0).repeat(width, axis=1)


def _reflected(axis: int, *, first: bool) -> Change:
    """The grid and its mirror image along an axis; `first` puts the image before the grid."""

    def change(cells: Cells) -> Cells:
        both = [np.flip(cells, axis), cells]
        return np.concatenate(both if first else both[::-1], axis)

    return change


def _symmetry(name: str, change: Change, inverse: Change | None = None) -> Augmentation:
    return Augmentation(name, change, inverse or change)


SYMMETRIES: Mapping[str, Augmentation] = {
    one.name: one
    for one in (
        _symmetry("rotate-90", _rotated(1), _rotated(3)),
        _symmetry("rotate-180", _rotated(2)),
        _symmetry("rotate-270", _rotated(3), _rotated(1)),
        _symmetry("flip-0", np.flipud),
        _symmetry("flip-1", np.fliplr),
        _symmetry("transpose", np.transpose),
        _symmetry("antitranspose", lambda cells: np.rot90(cells, 2).T),
    )
}
"""The symmetries of the square, except the identity."""
_PUBLISHED = [one for name, one in SYMMETRIES.items() if name != "antitranspose"]


def _then_doubled(first: Augmentation) -> Augmentation:
    double = _doubled(2, 2)
    return Augmentation(f"{first.name}, resolution", lambda cells: double(first.change(cells)))


_GROUPS: Mapping[Group, tuple[Augmentation, ...]] = {
    "basic": (
        *_PUBLISHED,
        Augmentation("reflect-0", _reflected(0, first=False)),
        Augmentation("reflect-1", _reflected(1, first=False)),
        Augmentation("reflect-0-first", _reflected(0, first=True)),
        Augmentation("reflect-1-first", _reflected(1, first=True)),
    ),
    "size": (
        Augmentation("resolution", _doubled(2, 2)),
        Augmentation("height", _doubled(2, 1)),
        Augmentation("width", _doubled(1, 2)),
    ),
    "chain": tuple(_then_doubled(one) for one in _PUBLISHED),
    "repeat": (
        Augmentation("repeat-0", lambda cells: np.tile(cells, (2, 1))),
        Augmentation("repeat-1", lambda cells: np.tile(cells, (1, 2))),
        Augmentation("repeat-both", lambda cells: np.tile(cells, (2, 2))),
    ),
}
GROUPS: tuple[Group, ...] = get_args(Group)


def augmentations_of(group: Group, rng: np.random.Generator) -> tuple[Augmentation, ...]:
    """The augmentations of a group; `rng` draws the translation, which belongs to "basic"."""
    if group != "basic":
        return _GROUPS[group]
    shift = tuple(rng.integers(0, _SHIFTS, 2).tolist())
    translate = Augmentation("translate", partial(np.roll, shift=shift, axis=(0, 1)))
    return (*_GROUPS["basic"], translate)


def permuted_colors(rng: np.random.Generator) -> Augmentation:
    """A random permutation of the colors 1 to 9."""
    colors = np.array([0, *(1 + rng.permutation(9))])
    return Augmentation(
        "colors", lambda cells: colors[cells], lambda cells: np.argsort(colors)[cells]
    )
