"""A folder that somebody sent is data."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataenvgym.config import compose, open_run, read_config
from dataenvgym.config.evaluated_run import compose_for_run
from dataenvgym.config.evaluation_directory import (
    evaluation_settings,
    hold_evaluation,
    keep_settings,
    read_evaluation,
    settings_to_rescore,
)
from dataenvgym.errors import ConfigurationError, RunDirectoryError


@pytest.fixture
def run_with(tmp_path: Path):
    """A run with these options, as if somebody had sent it."""

    def make(*overrides: str) -> str:
        with open_run(compose([*overrides, f"runs_dir={tmp_path}", "name=r"])) as directory:
            return str(directory)

    return make


@pytest.fixture
def evaluation_with(tmp_path: Path):
    """An evaluation with these options, as if somebody had sent it."""

    def make(*overrides: str) -> Path:
        config = compose(overrides, name="eval")
        settings = evaluation_settings(config, split="test", limit=None, adapter=None)
        with hold_evaluation(tmp_path / "e", settings):
            keep_settings(tmp_path / "e", settings)
        return tmp_path / "e"

    return make


EVIL = [
    (["task=custom", "task._target_=subprocess.Popen"], "task._target_"),
    (["task=custom", "task._target_=dataenvgym.storage.remove_folder"], "task._target_"),
    (["task=custom", "task._target_=dataenvgym.tasks.os.system"], "task._target_"),
    (["+task.extra_source={_target_: os.system}"], "task.extra_source._target_"),
    (["+task.extras=[{_target_: os.system}]"], "task.extras.0._target_"),
    (["task=humaneval", "task.sandbox=unsafe_local"], "task.sandbox"),
    (["trainer=llama_factory", "trainer.command=[sh,evil.sh]"], "trainer.command"),
    (["trainer=llama_factory", "+trainer.environment.LD_PRELOAD=x"], "trainer.environment.LD_PR"),
    (["predictor=vllm", "predictor.base_url=http://evil"], "predictor.base_url"),
    (["student=pocket", "predictor=openai", "predictor.model=x",
      "predictor.api_key_variable=AWS_SECRET_ACCESS_KEY"], "predictor.api_key_variable"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "key"), EVIL)
def test_a_run_names_no_code_program_or_server_of_its_own(run_with, monkeypatch, options, key):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    run = run_with(*options)
    with pytest.raises(ConfigurationError, match=rf"{key}.* in .*config.yaml.* --trust") as caught:
        compose_for_run(run, [])
    assert "type it yourself" in str(caught.value)
    assert compose_for_run(run, [], trust=True)


def test_what_was_typed_is_the_users_own_choice(run_with):
    run = run_with("task=custom", "task._target_=mine.Task", "predictor=vllm",
                   "predictor.base_url=http://mine")  # fmt: skip
    typed = ["task._target_=mine.Task", "predictor.base_url=http://mine"]
    config, _ = compose_for_run(run, typed)
    assert config.task._target_ == "mine.Task"
    assert compose_for_run(run, ["task=pocket_code", typed[1]])
    with pytest.raises(ConfigurationError, match=r"task\._target_"):
        compose_for_run(run, [typed[1]])


def test_classes_in_the_users_own_yaml_files_are_their_own_choice(run_with, tmp_path):
    (tmp_path / "own" / "task").mkdir(parents=True)
    (tmp_path / "own" / "task" / "mine.yaml").write_text("# Mine\n_target_: mine.Task\n")
    run = run_with("task=custom", "task._target_=mine.Task")
    assert compose_for_run(run, [], config_dir=tmp_path / "own")


@pytest.mark.parametrize(
    "options",
    [
        *(["task=pocket_math"], ["task=pocket_code"], ["task=gsm8k"], ["task=mbpp"]),
        ["student=simulated"],
        *(["trainer=llama_factory", f"trainer/deepspeed={d}"] for d in ("zero2", "zero3")),
        ["predictor=vllm", "trainer=llama_factory", "trainer/method=qlora"],
    ],
)
def test_a_run_of_this_package_needs_no_trust(run_with, monkeypatch, options):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    assert compose_for_run(run_with(*options), [])


@pytest.mark.parametrize("value", ["${oc.env:HOME}", "${seed}", "a ${oc.env:HOME}/b"])
def test_a_folder_refers_to_nothing(run_with, evaluation_with, value):
    for directory, read in ((Path(run_with()), read_config), (evaluation_with(), read_evaluation)):
        file = directory / "config.yaml"
        text = file.read_text()
        changed = text.replace("task:\n", f"task:\n  leak: {value}\n", 1)
        assert changed != text
        file.write_text(changed)
        with pytest.raises(RunDirectoryError, match=r"config.yaml: task.leak refers to another"):
            read(directory)


def test_an_evaluation_names_no_code_of_its_own(evaluation_with):
    directory = evaluation_with("task=custom", "task._target_=mine.Task")
    with pytest.raises(ConfigurationError, match=r"task._target_ is 'mine.Task' in .* --trust"):
        settings_to_rescore(directory, [])
    assert settings_to_rescore(directory, [], trust=True).task._target_ == "mine.Task"
    assert settings_to_rescore(directory, ["task._target_=mine.Task"])
