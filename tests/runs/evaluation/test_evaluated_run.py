"""The student and the task of a run, as an evaluation takes them over."""

import re
from pathlib import Path

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose, open_run
from dataenvgym.runs.evaluation.evaluated_run import compose_for_run


def opened(config) -> str:
    with open_run(config) as directory:
        return str(directory)


@pytest.fixture
def run(tmp_path):
    """A run on a task that is not the default one, with options that are not."""
    options = [
        *("task=math_jsonl", "task.sources=own.jsonl", "task.threads=3", "predictor.batch_size=8"),
        *("student=hf", "student.path=mine", f"runs_dir={tmp_path}", "name=r"),
    ]
    return opened(compose(options))


def test_sections_that_are_not_chosen_are_the_runs_with_the_options_laid_over(run):
    config, directory = compose_for_run(run, ["task.limit=7", "predictor.threads=1", "samples=2"])
    assert directory == Path(run)
    assert (config.task.sources, config.task.threads, config.task.limit) == ("own.jsonl", 3, 7)
    assert (config.predictor.batch_size, config.predictor.threads) == (8, 1)
    assert (config.predictor.student, config.samples) == ("mine", 2)


def test_a_section_that_is_chosen_is_the_chosen_one_alone(run):
    config, _ = compose_for_run(run, ["task=pocket_math", "task.n_validation=5"])
    assert (config.task.n_validation, config.task.threads) == (5, 4)
    assert config.predictor.batch_size == 8


def test_other_speakers_need_a_task_that_is_chosen(run):
    with pytest.raises(ConfigurationError, match="choose the task, too"):
        compose_for_run(run, ["task.others.partner=openai/NAME"])
    config, _ = compose_for_run(run, ["task=social", "task.others.partner=openai/NAME"])
    assert config.task.others.partner.model == "NAME"


def test_text_that_only_looks_like_a_reference_is_kept(tmp_path):
    options = [r'student.path="\${odd}"', "student=hf", f"runs_dir={tmp_path}", "name=r"]
    config, _ = compose_for_run(opened(compose(options)), [])
    assert config.predictor.student == "${odd}"
    config, _ = compose_for_run(str(tmp_path / "r"), ["student.path=other"])
    assert config.predictor.student == "other"
    given = [r'predictor.student="\${odd}"', "student=hf", "student.path=mine", "name=given"]
    config, _ = compose_for_run(opened(compose([*given, f"runs_dir={tmp_path}"])), [])
    assert config.predictor.student == "${odd}"


def test_another_student_brings_its_predictor(run):
    config, _ = compose_for_run(run, ["student=simulated"])
    assert config.predictor._target_ == "dataenvgym.environments.simulation.SimulatedPredictor"
    config, _ = compose_for_run(run, ["model=openai/gpt"])
    assert config.predictor.model == "gpt"
    assert config.task.sources == "own.jsonl"


def test_the_predictor_follows_an_option_of_the_student(run):
    config, _ = compose_for_run(run, ["student.path=other"])
    assert (config.predictor.student, config.predictor.batch_size) == ("other", 8)
    config, _ = compose_for_run(run, ["student.path=other", "predictor.student=third"])
    assert config.predictor.student == "third"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("task.n_validation=5", "task.n_validation"),
        ("task.limits=3", "Did you mean 'task.limit'"),
        ("task.threads=many", "task.threads is 'many'"),
        ("task.name=[a", "task.name"),
        ("task.threads=1,2", "task.threads"),
        ("trainer/methd=dpo", "trainer/methd"),
    ],
)
def test_options_are_checked_against_the_runs_sections(run, override, expected):
    with pytest.raises(ConfigurationError, match=re.escape(expected)):
        compose_for_run(run, [override])


def test_keys_are_added_and_removed_as_hydra_does(run):
    config, _ = compose_for_run(run, ["+task.pressure=traps", "~task.limit"])
    assert config.task.pressure == "traps"
    assert "limit" not in config.task
