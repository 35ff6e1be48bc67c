"""The plot of a study."""

import pytest

from dataenvgym.studies.plots import COLORS, draw_study
from dataenvgym.studies.results import StrategyRuns
from tests.studies.conftest import made_run, results_of, runs_of


def study(n_strategies, seeds=(0, 1, 2)):
    strategies = [
        StrategyRuns(f"s{i} $x", "strategy",
                     {s: made_run(s, (0.5, 0.6 + i / 50, 0.7 + s / 50), 0.6) for s in seeds})
        for i in range(n_strategies)
    ]  # fmt: skip
    return results_of(*strategies, runs_of("gold", [0], (0.5, 0.9, 0.9), 0.9))


@pytest.mark.parametrize(("n", "seeds"), [(1, (0,)), (3, (0, 1)), (len(COLORS) + 4, (0, 1, 2))])
def test_any_number_of_strategies_and_seeds_is_drawn(tmp_path, n, seeds):
    path = tmp_path / "curves.png"
    draw_study(study(n, seeds), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_same_study_makes_the_same_bytes(tmp_path):
    draw_study(study(2), tmp_path / "a.png")
    draw_study(study(2), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
