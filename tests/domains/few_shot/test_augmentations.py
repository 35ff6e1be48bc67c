import numpy as np
import pytest

from dataenvgym.domains.few_shot.augmentations import (
    GROUPS,
    SYMMETRIES,
    augmentations_of,
    permuted_colors,
)
from dataenvgym.domains.few_shot.environment import output_of
from dataenvgym.domains.few_shot.problem import FewShotProblem, Pair
from tests.domains.few_shot.puzzles import grid

TWO = grid("1 2/3 4")


def named(group, name):
    return next(a for a in augmentations_of(group, np.random.default_rng(0)) if a.name == name)


def test_symmetries_and_permuted_colors_are_undone_exactly_on_arc(arc_problems):
    rng = np.random.default_rng(0)
    seen = set()
    for instance in arc_problems[::8]:
        problem = instance.data_as(FewShotProblem)
        grids = {g for p in problem.demonstrations for g in (p.input, p.output)} - seen
        seen |= grids
        for one in (*SYMMETRIES.values(), permuted_colors(rng)):
            for each in (*grids, problem.input, output_of(instance)):
                assert one.undone(one.applied(each)) == each


@pytest.mark.parametrize(
    ("group", "name", "expected"),
    [
        ("basic", "rotate-90", "2 4/1 3"), ("basic", "rotate-180", "4 3/2 1"),
        ("basic", "rotate-270", "3 1/4 2"), ("basic", "flip-0", "3 4/1 2"),
        ("basic", "flip-1", "2 1/4 3"), ("basic", "transpose", "1 3/2 4"),
        ("basic", "reflect-0", "1 2/3 4/3 4/1 2"), ("basic", "reflect-1", "1 2 2 1/3 4 4 3"),
        ("basic", "reflect-0-first", "3 4/1 2/1 2/3 4"),
        ("basic", "reflect-1-first", "2 1 1 2/4 3 3 4"),
        ("size", "resolution", "1 1 2 2/1 1 2 2/3 3 4 4/3 3 4 4"),
        ("size", "height", "1 2/1 2/3 4/3 4"), ("size", "width", "1 1 2 2/3 3 4 4"),
        ("chain", "flip-1, resolution", "2 2 1 1/2 2 1 1/4 4 3 3/4 4 3 3"),
        ("repeat", "repeat-0", "1 2/3 4/1 2/3 4"), ("repeat", "repeat-1", "1 2 1 2/3 4 3 4"),
        ("repeat", "repeat-both", "1 2 1 2/3 4 3 4/1 2 1 2/3 4 3 4"),
    ],
)  # fmt: skip
def test_an_augmentation_changes_a_grid(group, name, expected):
    assert named(group, name).applied(TWO) == grid(expected)


def test_the_groups_are_the_published_ones():
    rng = np.random.default_rng(0)
    assert [len(augmentations_of(group, rng)) for group in GROUPS] == [11, 3, 6, 3]
    undone = {a.name for g in GROUPS for a in augmentations_of(g, rng) if a.inverse is not None}
    assert undone == {*SYMMETRIES} - {"antitranspose"}


def test_a_translation_moves_all_grids_alike():
    def translation(seed):
        return augmentations_of("basic", np.random.default_rng(seed))[-1]

    grids = (grid("/".join(["1 0 0 0", *["0 0 0 0"] * 3])), grid("/".join(["1 2", "2 2"])))
    for seed in range(3):
        assert translation(seed).applied(grids[0]) == translation(seed).applied(grids[0])
        assert sum(translation(seed).applied(grids[1]), ()).count(1) == 1
    assert len({translation(seed).applied(grids[0]) for seed in range(9)}) > 1


def test_a_pair_that_becomes_too_large_is_dropped():
    small, large = grid("1 2"), grid("/".join(["1 2"] * 16))
    double = named("size", "resolution")
    assert double.of_pair(Pair(input=small, output=small)) is not None
    assert double.of_pair(Pair(input=small, output=large)) is None
