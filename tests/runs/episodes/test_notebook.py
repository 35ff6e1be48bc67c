"""A summary as a data frame, as a figure, and as a notebook shows it."""

import sys

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.episodes import read_summary
from tests.runs.episodes.echo import iteration
from tests.runs.episodes.echo import summary as make_summary


@pytest.fixture(scope="module")
def summary():
    skills = {"seconds": {"total": 1.5}, "val_score_by_skill": {"a": 0.5, "b": None}}
    first = iteration(0, 0.5, dropped={"duplicate": 0}, **skills)
    second = iteration(1, 0.6, 5, dropped={"duplicate": 1}, **skills,
                       named_scores={"tests_passed": 0.75})  # fmt: skip
    return make_summary(first, second, task="<b>t")


def test_a_data_frame_has_a_row_for_each_iteration(summary):
    pytest.importorskip("pandas", reason="needs the extra [pandas]")
    frame = summary.to_pandas()
    assert frame["val_score"].tolist() == [0.5, 0.6]
    assert frame["dropped.duplicate"].tolist() == [0, 1]
    assert frame["named_scores.tests_passed"].fillna(-1).tolist() == [-1, 0.75]
    assert "no_answer_rate" not in frame
    told = make_summary(iteration(0), iteration(1, no_answer_rate=0.25)).to_pandas()
    assert told["no_answer_rate"].fillna(-1).tolist() == [-1, 0.25]


def test_without_pandas_the_error_says_what_to_install(summary, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigurationError, match=r"dataenvgym\[pandas"):
        summary.to_pandas()


def test_a_plot_is_a_figure_that_can_be_written(summary, tmp_path):
    figure = summary.plot(tmp_path / "curve.svg")
    assert [axes.get_title("left") for axes in figure.axes[:2]] == ["Overall", "By skill"]
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
    assert "tests_passed" in figure.axes[0].get_legend_handles_labels()[1]


def test_a_notebook_shows_the_outcome_a_table_and_the_curve_and_no_markup_of_a_name(summary):
    html = summary._repr_html_()
    assert "&lt;b&gt;t, taught by a, seed 0" in html
    assert "failed calls" not in html
    assert "+0.100" in html
    assert 'src="data:image/png;base64,' in html
    assert (
        "running"
        in summary.model_copy(update={"iterations": (), "status": "running"})._repr_html_()
    )


def test_a_summary_is_read_from_a_path_in_words(play, tmp_path):
    made = play(tmp_path / "run", iterations=1)
    assert read_summary(str(tmp_path / "run")) == made
