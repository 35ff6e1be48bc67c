import sys

import matplotlib
import matplotlib.image
import pytest
from matplotlib.figure import Figure

from dataenvgym.runs.episodes import plots
from dataenvgym.runs.episodes.plots import draw_curve
from tests.runs.episodes.echo import iteration, summary


@pytest.fixture(autouse=True)
def each_curve_is_drawn(monkeypatch):
    """Other tests share the curves of equal scores."""
    monkeypatch.setattr(plots, "curve_bytes", plots.curve_bytes.__wrapped__)


def make_summary(n=4, skills=("a", "b"), **options):
    iterations = (
        iteration(i, 0.5 + 0.1 * i / n, seconds={"total": float(i)},
                  val_score_by_skill={s: None if i == k == 1 else 0.1 * (i % 10)
                                      for k, s in enumerate(skills)})
        for i in range(n)
    )  # fmt: skip
    return summary(*iterations, **options)


def test_the_same_scores_make_the_same_bytes_with_any_user_settings(tmp_path):
    draw_curve(make_summary(), tmp_path / "a.png")
    with matplotlib.rc_context({"font.size": 30, "savefig.dpi": 10, "axes.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        draw_curve(make_summary(), tmp_path / "b.png")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    draw_curve(make_summary(test_score_before=0.4, test_score_after=0.6), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.png"]


def test_a_curve_is_drawn_without_pyplot(tmp_path):
    sys.modules.pop("matplotlib.pyplot", None)
    draw_curve(make_summary(), tmp_path / "a.png")
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
@pytest.mark.parametrize(
    ("n", "skills"),
    [
        (1, ("a",)),
        (30, tuple(f"skill {i}" for i in range(40))),
        (3, ("",)),
        (3, ()),
        (3, ("$\\bad{$", "数学 $x$ [red]", "a\x1bb" * 40)),
    ],
)
def test_any_number_of_iterations_and_any_names_can_be_drawn(tmp_path, n, skills):
    categories = dict.fromkeys(skills, "$\\frac$")
    draw_curve(make_summary(n, skills, task="$_$"), tmp_path / "a.png", categories=categories)
    height, width, _ = matplotlib.image.imread(tmp_path / "a.png").shape
    assert 500 < height < 3000
    assert 700 < width < 3000


def test_a_named_score_of_another_scale_does_not_squeeze_the_others():
    named = [{"goal": 6.0 + n, "f1": 0.3 + n / 10} for n in range(2)]
    figure = summary(*(iteration(n, named_scores=named[n]) for n in range(2))).plot()
    labels = {line.get_label() for line in figure.axes[0].lines}
    assert "f1" in labels
    assert "goal" not in labels
    assert figure.axes[0].get_ylim()[1] < 1.5


def test_many_named_scores_have_their_legend_below_the_lines():
    named = {f"f1_{i}": i / 9 for i in range(9)}
    figure = summary(iteration(0), iteration(1, named_scores=named)).plot()
    figure.canvas.draw()
    legend = figure.axes[0].get_legend().get_window_extent()
    assert 0 <= legend.y0 < legend.y1 < figure.axes[0].get_window_extent().y0
    assert legend.x0 >= 0


def test_a_curve_is_drawn_only_once(tmp_path, monkeypatch):
    drawn = []
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda *args: drawn.append(1) or draw(*args))
    draw_curve(make_summary(), tmp_path / "a.png")
    assert len(drawn) == 1
