"""A configuration and the folder of its evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataenvgym.config import compose
from dataenvgym.config.evaluation_directory import (
    evaluation_directory,
    evaluation_files,
    evaluation_settings,
    find_evaluation,
    open_evaluation,
    remove_evaluation,
)
from dataenvgym.errors import ConfigurationError, RunDirectoryError


def name_of(*overrides: str, split: str = "test", limit=None, adapter: Path | None = None) -> str:
    config = compose(overrides, name="eval")
    settings = evaluation_settings(config, split=split, limit=limit, adapter=adapter)
    return evaluation_directory(config, settings).as_posix()


def test_the_name_follows_who_answers_what_and_nothing_else(tmp_path):
    name = name_of()
    assert name.startswith("evaluations/pocket_math-test-")
    for free in ("samples=4", "metrics=[pass@1]", "agent=random", "seed=3", "episode.iterations=9"):
        assert name_of(free) == name, free
    adapter = tmp_path / "adapter"
    adapter.write_text("weights")
    others = [
        name_of("task.sampling.temperature=1.0"),
        name_of("student.adapter=somewhere"),
        name_of("chunk=7"),
        name_of(split="train"),
        name_of(limit=3),
        name_of(adapter=adapter),
    ]
    adapter.write_text("other weights")
    others.append(name_of(adapter=adapter))
    assert len({name, *others}) == 8
    assert name_of("name=mine", "evaluations_dir=here") == "here/mine"


def test_a_file_of_samples_has_as_many_problems_as_the_task_has_in_a_chunk():
    for overrides, expected in ((["task.chunk_size=5"], 5), (["task.chunk_size=5", "chunk=3"], 3)):
        config = compose(overrides, name="eval")
        settings = evaluation_settings(config, split="test", limit=None, adapter=None)
        assert evaluation_files(Path("x"), settings).chunk == expected


@pytest.mark.parametrize("key", ["samples", "chunk"])
def test_numbers_below_one_are_refused(key):
    with pytest.raises(ConfigurationError, match=f"{key} is 0, expected 1 or more"):
        name_of(f"{key}=0")


def test_an_evaluation_is_found_by_path_or_name_and_removed_whole(tmp_path):
    config = compose(["name=mine", f"evaluations_dir={tmp_path}"], name="eval")
    settings = evaluation_settings(config, split="test", limit=None, adapter=None)
    directory = evaluation_directory(config, settings)
    open_evaluation(directory, settings)
    assert find_evaluation(str(directory)) == find_evaluation("mine", tmp_path) == directory
    remove_evaluation(directory)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RunDirectoryError, match="there is no evaluation 'mine'"):
        find_evaluation("mine", tmp_path)


def test_somebody_elses_folder_is_not_removed(tmp_path):
    (tmp_path / "letters").write_text("dear")
    with pytest.raises(RunDirectoryError, match="is no evaluation"):
        remove_evaluation(tmp_path)
    assert (tmp_path / "letters").exists()
