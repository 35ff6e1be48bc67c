"""Short names for students."""

from __future__ import annotations

import pytest

from dataenvgym.config import build_task, compose
from dataenvgym.config.overrides import model_overrides, parse_overrides
from dataenvgym.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "predictor", "path", "adapter"),
    [
        ("hf/pocket", "InProcessPredictor", "pocket", None),
        ("vllm/pocket", "VllmPredictor", "pocket", None),
        ("hf/Qwen/Qwen3-8B", "InProcessPredictor", "Qwen/Qwen3-8B", None),
        ("vllm//models/mine:runs/r/3", "VllmPredictor", "/models/mine", "runs/r/3"),
        ("hf/~/it's, [mine]", "InProcessPredictor", "~/it's, [mine]", None),
        ('hf/a "b"\\c\\', "InProcessPredictor", 'a "b"\\c\\', None),
    ],
)
def test_a_name_stands_for_predictor_student_and_adapter(text, predictor, path, adapter):
    config = compose([f"model={text}"])
    assert config.predictor._target_ == f"dataenvgym.predictors.{predictor}"
    assert (config.student.path, config.student.adapter) == (path, adapter)
    assert (config.predictor.student, config.predictor.adapter) == (path, adapter)


def test_a_model_behind_an_api_keeps_its_whole_name():
    config = compose(["model=openai/ft:gpt-4o:mine::1"])
    assert config.predictor._target_ == "dataenvgym.predictors.OpenAIPredictor"
    assert config.predictor.model == "ft:gpt-4o:mine::1"


@pytest.mark.parametrize(
    "text", ["", "pocket", "hf/", "hf/pocket:", "vllm/:adapter", "transformers/pocket", "openai/"]
)
def test_what_is_no_name_is_refused_with_the_forms_that_are(text):
    with pytest.raises(ConfigurationError, match="expected vllm/BASE, vllm/BASE:ADAPTER, hf/BASE"):
        model_overrides(text)


def test_a_slip_is_guessed():
    with pytest.raises(ConfigurationError, match="Did you mean 'vllm'"):
        compose(["model=vlm/pocket"])


def test_what_comes_later_wins():
    assert compose(["model=hf/some/one:a", "model=hf/pocket"]).student == {
        "path": "pocket",
        "adapter": None,
    }
    assert compose(["model=hf/some/one", "student.path=other"]).student.path == "other"
    assert compose(["student.path=other", "model=hf/pocket"]).student.path == "pocket"


def test_it_counts_as_what_it_stands_for():
    assert {o.section for o in parse_overrides(["model=hf/pocket"])} == {"student", "predictor"}


@pytest.mark.parametrize("chosen", [["student=pocket"], ["model=hf/pocket"], []])
def test_the_pocket_student_is_the_one_that_the_task_names(chosen):
    assert compose(chosen).predictor.student == "pocket"
    config = compose([*chosen, "+task.student=pocket-tools-v1"])
    assert config.predictor.student == "pocket-tools-v1"
    assert build_task(config).student == "pocket-tools-v1"
