"""The benchmark of the tasks under pressure (docs/strategies.md)."""

import pytest

from benchmarks import pressures
from dataenvgym.runs.config import compose
from dataenvgym.tasks.pressures import PRESSURES


def test_each_pressure_has_two_policies_that_its_task_composes_with():
    assert set(pressures.PAIRS) == set(PRESSURES)
    for name, pair in pressures.PAIRS.items():
        fits, ignores = (compose([f"task=teach/{name}", *option.split()]) for option in pair)
        assert fits.agent != ignores.agent or fits.quality != ignores.quality


def test_a_task_that_does_not_exist_is_named(capsys):
    with pytest.raises(SystemExit):
        pressures.main(["trap"])
    assert "'trap'" in capsys.readouterr().err


@pytest.mark.slow
def test_it_measures_a_task_and_resumes(tmp_path, monkeypatch, capsys):
    short = [
        *("episode.iterations=1", "agent.records_per_iteration=12", "predictor.threads=1"),
        *("executor=in_process", "task.n_train=40", "task.n_validation=20", "task.n_test=20"),
    ]
    monkeypatch.setattr(pressures, "SETTING", short)
    asked = ["plateau", "--seeds", "1,2", "--folder", str(tmp_path)]
    pressures.main(asked)
    page = (tmp_path / "pressures.md").read_text()
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("iteration.json")}
    assert len(files) == 2 * 5  # two policies with two seeds, and gold data with one
    pressures.main(asked)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("iteration.json")} == files
    assert (tmp_path / "pressures.md").read_text() == page
    assert (tmp_path / "pressures.png").stat().st_size > 10_000
    assert page.count("`plateau`") == 2
    assert "largest" in page
    assert capsys.readouterr().out.count("fits: `agent=skill_list agent.policy.sharpness=0`") == 2
