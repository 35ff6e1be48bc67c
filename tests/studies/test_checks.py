"""Checks of a study before anything runs."""

import pytest

from dataenvgym.errors import ConfigurationError, FormatError
from dataenvgym.storage import write_json
from dataenvgym.studies.study import run_study
from dataenvgym.workspace import FORMAT

GRID = ("agent=random,skill_list", "seed=0,1")


def test_less_than_a_study_has_is_refused_and_its_tables_stay(studied, small, folder):
    table = (folder / "studies" / "s" / "study.md").read_bytes()
    with pytest.raises(ConfigurationError, match="missing from"):
        run_study([GRID[0], "seed=0", *small], name="s")
    with pytest.raises(ConfigurationError, match=r"study\.json has"):
        run_study([*GRID, *small, "agent.records_per_iteration=10"], name="s")
    assert (folder / "studies" / "s" / "study.md").read_bytes() == table


@pytest.mark.parametrize(
    ("extra", "strategies", "message"),
    [
        (["agent=rnadom,random"], [], "there is no agent=rnadom. Did you mean 'random'"),
        (["agent=random", "sed=1"], [], "'sed'"),
        (["agent=random"], ["b: agent=random"], "are the same episode"),
        (["agent=random"], ["b: trainer.lora_rank=2"], "would not be fair.*\n  trainer.lora_rank"),
        (["agent=random"], ["b: environment.max_records=9"], "--allow-unequal records"),
    ],
)
def test_impossible_studies_are_refused_before_anything_runs(
    small, folder, extra, strategies, message
):
    with pytest.raises(ConfigurationError, match=message):
        run_study([*extra, *small], strategies=strategies, name="s", bounds=False)
    assert not (folder / "studies").exists()


def test_a_study_of_a_newer_format_is_refused_before_anything_runs(small, folder):
    write_json(folder / "studies" / "s" / "study.json", {"format": FORMAT + 1, "runs": []})
    with pytest.raises(FormatError, match=r"study\.json has format"):
        run_study([*GRID, *small], name="s")
