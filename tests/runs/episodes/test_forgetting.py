"""Forgetting: what an earlier student solved and a later one does not."""

import pytest

from dataenvgym.records import CompletedTaskInstance
from dataenvgym.runs.episodes.plots import curve_figure
from dataenvgym.runs.episodes.run_files import losses, losses_in, mean_loss
from dataenvgym.storage import read_jsonl, write_jsonl
from tests.runs.episodes.echo import iteration, summary


def test_each_problem_is_compared_with_its_best_earlier_student():
    found = losses([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 0.75}, {"a": 0.0, "b": 0.5}])
    assert found == [{}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.25}]
    assert [mean_loss(lost) for lost in found] == [0.0, 0.5, 0.625]


def test_problems_without_a_score_now_or_before_are_left_out():
    found = losses([{"a": 1.0}, {"b": 1.0}, {"a": 0.0, "b": 1.0, "c": 0.0}])
    assert found == [{}, {}, {"a": 1.0, "b": 0.0}]


def test_a_run_forgets_what_an_earlier_student_of_it_solved(finished_run):
    # the student forgets its first problem after five records
    assert [round(12 * sum(lost.values())) for lost in losses_in(finished_run)] == [0, 0, 12, 12]
    assert losses_in(finished_run)[-1]["echo-108"] == 0.0
    path = finished_run / "iterations" / "002" / "completed.jsonl"
    rows = list(read_jsonl(path))
    rows[0] |= {"reward": 0.0, "was_correct": False, "error": "away"}
    CompletedTaskInstance.model_validate(rows[0])
    write_jsonl(path, rows)
    assert [len(lost) for lost in losses_in(finished_run)] == [0, 12, 11, 12]


@pytest.mark.parametrize("forgetting", [(), (0.0, 0.0), (0.0, 0.1)])
def test_a_curve_has_a_band_only_if_something_was_forgotten(forgetting):
    figure = curve_figure(summary(iteration(0), iteration(1)), forgetting=forgetting)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert ("forgotten" in labels) == any(forgetting)
