"""A folder that somebody sent is data."""

import copy
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.runs.config import compose, open_run, read_config
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.runs.config.received import refuse_untrusted
from dataenvgym.runs.evaluation.directory import (
    EVALUATIONS,
    evaluation_settings,
    settings_to_rescore,
)
from dataenvgym.runs.evaluation.evaluated_run import compose_for_run


@pytest.fixture
def run_with(tmp_path, as_received):
    """A run with these options, as if somebody had sent it."""

    def make(*overrides: str) -> str:
        with open_run(compose([*overrides, f"runs_dir={tmp_path}", "name=r"])) as directory:
            as_received()
            return str(directory)

    return make


@pytest.fixture(scope="module")
def evaluation():
    """The default configuration of an evaluation."""
    return compose(name="eval")


@pytest.fixture
def evaluation_with(tmp_path, as_received):
    """An evaluation with these options, as if somebody had sent it."""

    def make(*overrides: str) -> Path:
        config = compose(overrides, name="eval")
        settings = evaluation_settings(config, split="test", limit=None, adapter=None)
        with EVALUATIONS.opened(tmp_path / "e", settings):
            EVALUATIONS.keep(tmp_path / "e", settings)
        as_received()
        return tmp_path / "e"

    return make


EVIL = {
    "task._target_": "subprocess.Popen",
    "predictor._target_": "dataenvgym.storage.remove_folder",
    "trainer._target_": "dataenvgym.tasks.os.system",
    "task.source": {"_target_": "os.system"},
    "task.more": [{"_target_": "os.system"}],
    "task.made": {"_target_": ["os.system"]},
    "task.sandbox": "unsafe_local",
    "task.world": "evil.World",
    "task.mcp": {"command": ["sh", "evil.sh"]},
    "task.mcp.url": "http://evil",
    "task.mcp.headers": {"X-Key": "..."},
    "task.mcp.variables": ["AWS_SECRET_ACCESS_KEY"],
    "trainer.command": ["sh", "evil.sh"],
    "trainer.environment": {"LD_PRELOAD": "evil.so"},
    "predictor.base_url": "http://evil",
    "predictor.api_key_variable": "AWS_SECRET_ACCESS_KEY",
    "task.others": {"user": {"cache": "redis://127.0.0.1:46379"}},
    "task.anything": ["Unix:///run/redis"],
    "task.sources": "",
    "task.files": [""],
    "predictor.options": {"--trust-remote-code": []},
    "predictor.flags": {"--trust-remote-code": ""},
}


def test_an_untouched_folder_is_data(evaluation, tmp_path):
    sections = ["task", "student", "predictor", "trainer"]
    refuse_untrusted(evaluation, sections, tmp_path / "config.yaml", [])


@pytest.mark.parametrize("key", EVIL)
def test_a_folder_names_no_code_program_or_server_of_its_own(evaluation, tmp_path, key):
    file, section = tmp_path / "config.yaml", key.partition(".")[0]
    config = copy.deepcopy(evaluation)
    OmegaConf.update(config, key, EVIL[key], force_add=True)
    with pytest.raises(ConfigurationError, match=rf"{key}.* in .*config.yaml.* --trust") as caught:
        refuse_untrusted(config, [section], file, [])
    assert "type it yourself" in str(caught.value)
    refuse_untrusted(config, [section], file, parse_overrides([f"{key}=..."]))


def test_typed_values_are_trusted(run_with):
    run = run_with("task=custom", "task._target_=mine.Task", "predictor=vllm",
                   "predictor.base_url=http://mine")  # fmt: skip
    typed = ["task._target_=mine.Task", "predictor.base_url=http://mine"]
    config, _ = compose_for_run(run, typed)
    assert config.task._target_ == "mine.Task"
    assert compose_for_run(run, ["task=pocket_code", typed[1]])
    with pytest.raises(ConfigurationError, match=r"task\._target_"):
        compose_for_run(run, [typed[1]])
    assert compose_for_run(run, [], trust=True)[0].task._target_ == "mine.Task"


def test_classes_in_the_users_own_yaml_files_are_their_own_choice(run_with, tmp_path):
    (tmp_path / "own" / "task").mkdir(parents=True)
    (tmp_path / "own" / "task" / "mine.yaml").write_text("# Mine\n_target_: mine.Task\n")
    run = run_with("task=custom", "task._target_=mine.Task")
    assert compose_for_run(run, [], config_dir=tmp_path / "own")


@pytest.mark.parametrize(
    "options",
    [
        ["task=gsm8k", "student=simulated"],
        ["task=mbpp", "predictor=vllm", "trainer=llama_factory", "trainer/deepspeed=zero3"],
    ],
)
def test_a_run_of_this_package_needs_no_trust(run_with, monkeypatch, options):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    assert compose_for_run(run_with(*options), [])


def test_a_folder_refers_to_nothing(run_with, evaluation_with):
    for directory, read in ((Path(run_with()), read_config), (evaluation_with(), EVALUATIONS.read)):
        file = directory / "config.yaml"
        text = file.read_text()
        for value in ("${oc.env:HOME}", "${seed}", "a ${oc.env:HOME}/b", r"\\${oc.env:HOME}"):
            changed = text.replace("task:\n", f"task:\n  leak: {value}\n", 1)
            assert changed != text
            file.write_text(changed)
            with pytest.raises(RunDirectoryError, match="refers"):
                read(directory)


def test_an_evaluation_names_no_code_of_its_own(evaluation_with):
    directory = evaluation_with("task=custom", "task._target_=mine.Task")
    with pytest.raises(ConfigurationError, match="mine"):
        settings_to_rescore(directory, [])
    assert settings_to_rescore(directory, [], trust=True).task._target_ == "mine.Task"
    assert settings_to_rescore(directory, ["task._target_=mine.Task"])
