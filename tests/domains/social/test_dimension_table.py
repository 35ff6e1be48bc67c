"""The mean of each dimension over the rows of an evaluation."""

import pytest

from dataenvgym.domains.social.evaluation import (
    EpisodeRow,
    dimension_table,
)
from dataenvgym.domains.social.scene_log import SceneLog
from dataenvgym.runs.documents import markdown
from dataenvgym.tasks.metrics.estimators import clustered_estimate


def row(scene, *goals, seats=None, subsets=(), by_judge=(), **options):
    """An episode of a scene with the goal score of each seat; None for one without."""
    return EpisodeRow(
        id=f"{scene}-1",
        instance=f"{scene}-0-0",
        sample=0,
        scene=scene,
        subsets=subsets,
        seats=seats or (0,),
        scores=tuple(None if goal is None else {"goal": goal} for goal in goals),
        played=SceneLog(id="e", scene=scene, characters=("ann", "bob"), by_judge=by_judge),
        **options,
    )


def test_scores_of_the_students_seats_count_and_scenes_are_the_clusters():
    rows = [row("a", 1.0, 9.0), row("a", 9.0, 3.0, seats=(1,)), row("b", 5.0, None)]
    (column,) = dimension_table(rows, {}).columns
    # the student's seats: 1 and 3 in scene a, 5 in scene b (derived in test_estimates.py)
    goal = column.dimensions["goal"]
    assert (goal.n, goal.mean) == (3, 3.0)
    assert goal.half_width == pytest.approx(16.9416, abs=1e-3)
    assert (column.n_scenes, column.n_episodes) == (2, 3)
    assert "overall" not in column.dimensions


def test_every_seat_counts_where_the_student_has_all():
    rows = [row("a", 1.0, 3.0, seats=(0, 1)), row("b", 5.0, 7.0, seats=(0, 1))]
    table = dimension_table(rows, {})
    assert table.every_seat
    found = table.columns[0].dimensions["goal"]
    assert found == clustered_estimate([[1.0, 3.0], [5.0, 7.0]])
    assert found.mean == 4.0


def test_hard_scenes_are_shown_next_to_all_scenes_or_alone():
    hard, easy = row("a", 2.0, None, subsets=("hard",)), row("b", 8.0, None)
    table = dimension_table([hard, easy], {})
    assert [(c.scenes, c.dimensions["goal"].mean) for c in table.columns] == [
        ("hard", 2.0),
        ("all", 5.0),
    ]
    assert [c.scenes for c in dimension_table([hard], {}).columns] == ["hard"]
    assert [c.scenes for c in dimension_table([easy], {}).columns] == ["all"]


def test_an_episode_without_scores_is_left_out_and_counted_and_is_not_zero():
    failed = row("b", None, None, error="judge: no usable verdict", fault="judge")
    table = dimension_table([row("a", 4.0, None), row("c", 6.0, None), failed], {})
    assert table.excluded == {"judge": 1}
    assert table.n_episodes == 3
    assert (table.columns[0].n_episodes, table.columns[0].dimensions["goal"].mean) == (2, 5.0)


def test_the_agreement_of_several_judges_is_that_of_krippendorff():
    both = [{"goal": {"a": a, "b": b}} for a, b in ((1.0, 2.0), (5.0, 5.0), (9.0, 8.0))]
    rows = [row(f"s{i}", 5.0, None, by_judge=(seat, {})) for i, seat in enumerate(both)]
    # By hand: observed disagreement, the mean of (a - b)^2 over units: (1 + 0 + 1) / 3 = 2/3.
    # Expected: the mean of (x - y)^2 over the 30 ordered pairs of 1, 2, 5, 5, 9, 8, which is
    # 2 * var(n - 1) = 2 * (200 - 6 * 25) / 5 = 20. So alpha is 1 - (2/3) / 20 = 29/30.
    assert dimension_table(rows, {}).agreement == {"goal": pytest.approx(29 / 30)}
    assert dimension_table([row("a", 5.0, None)], {}).agreement == {}


def test_seats_that_did_not_converse_and_missing_verdicts_are_counted(shown):
    two, one = ({"goal": {"a": 1.0, "b": 2.0}},), ({"goal": {"b": 2.0}},)
    rows = [
        row("a", 5.0, 5.0, seats=(0, 1), stuck=("silent", "silent"), by_judge=two),
        row("b", 5.0, 5.0, stuck=("repeating", "silent"), by_judge=one),
        row("c", 5.0, 5.0, stuck=(None, "silent"), by_judge=two),
        row("d", None, error="judge: down", fault="judge", stuck=("silent", None)),
    ]
    table = dimension_table(rows, {"student": "pocket", "judge": "[big]"})
    assert table.stuck == {"repeating": 1, "silent": 2}  # of the student's seats in scored episodes
    assert table.n_judged_by_fewer == 1
    shown("dimensions_md.txt", markdown(table.document()))
