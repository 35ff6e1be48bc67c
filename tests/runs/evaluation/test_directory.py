"""A configuration and the folder of its evaluation."""

from pathlib import Path

import pytest

from dataenvgym.errors import RunDirectoryError
from dataenvgym.runs.config import compose
from dataenvgym.runs.evaluation.directory import (
    EVALUATIONS,
    evaluation_directory,
    evaluation_files,
    evaluation_settings,
    settings_to_rescore,
)
from dataenvgym.storage import remove_folder


def name_of(*overrides: str, split: str = "test", limit=None, adapter: Path | None = None) -> str:
    config = compose(overrides, name="eval")
    settings = evaluation_settings(config, split=split, limit=limit, adapter=adapter)
    return evaluation_directory(config, settings).as_posix()


def test_the_name_depends_only_on_options_that_determine_samples(tmp_path):
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


def test_an_evaluation_is_found_by_path_or_name_and_removed_whole(tmp_path):
    config = compose(["name=mine", f"evaluations_dir={tmp_path}"], name="eval")
    settings = evaluation_settings(config, split="test", limit=None, adapter=None)
    directory = evaluation_directory(config, settings)
    with EVALUATIONS.opened(directory, settings):
        pass
    assert EVALUATIONS.find(str(directory)) == EVALUATIONS.find("mine", tmp_path) == directory
    (directory / "instances.jsonl").touch()
    with EVALUATIONS.opened(directory, settings, fresh=True):
        assert [path.name for path in directory.iterdir()] == ["config.yaml"]
    assert list(tmp_path.iterdir()) == [directory]
    remove_folder(directory)
    with pytest.raises(RunDirectoryError, match="mine"):
        EVALUATIONS.find("mine", tmp_path)


@pytest.mark.parametrize("typed", [r"\${five}", r"\\\${five}"])
def test_text_that_looks_like_a_reference_in_a_prompt_is_kept(tmp_path, typed):
    options = ["task=math_jsonl", "task.sources=p.jsonl", f'task.system_prompt="costs {typed}"']
    config = compose([*options, "name=d", f"evaluations_dir={tmp_path}"], name="eval")
    prompt = config.task.system_prompt
    assert prompt.endswith("${five}")
    settings = evaluation_settings(config, split="test", limit=None, adapter=None)
    directory = evaluation_directory(config, settings)
    with EVALUATIONS.opened(directory, settings):
        EVALUATIONS.keep(directory, settings)
    begin(evaluation_files(directory, settings))
    assert settings.task.system_prompt == prompt
    assert EVALUATIONS.read(directory).task.system_prompt == prompt
    EVALUATIONS.check(directory, settings)
    changed = settings_to_rescore(directory, ["task.threads=2"])
    assert (changed.task.system_prompt, changed.task.threads) == (prompt, 2)


def begin(files) -> None:
    """Leave what an evaluation with a sample leaves."""
    part = files.part(0, 0)
    part.parent.mkdir(parents=True)
    part.write_text("")
