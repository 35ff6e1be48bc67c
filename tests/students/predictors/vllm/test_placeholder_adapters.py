"""Adapters that change nothing."""

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.vllm.placeholder_adapters import (
    write_unloadable_adapter,
    write_zero_adapter,
)
from dataenvgym.students.trainers.adapters import Adapter


def test_a_student_answers_under_zeros_as_if_it_had_no_adapter(tiny_student, tmp_path):
    asked = [(Message(role="user", content=f"{n}"),) for n in range(6)]
    predictor = InProcessPredictor(tiny_student)
    expected = predictor.predict(asked, SamplingParameters(max_tokens=8))
    folder = write_zero_adapter(tmp_path / "untouched", str(tiny_student))
    predictor.load(folder)  # PEFT finds its layer
    assert predictor.predict(asked, SamplingParameters(max_tokens=8)) == expected
    adapter = Adapter.read(folder)
    assert adapter.config["r"] == 1
    assert len(adapter.weights) == 2
    assert not any(weights.any() for weights in adapter.weights.values())


def test_a_student_without_a_layer_that_would_do_has_none(tmp_path):
    assert write_zero_adapter(tmp_path / "untouched", str(tmp_path)) is None


def test_a_blank_adapter_has_only_a_rank(tmp_path):
    adapter = Adapter.read(write_unloadable_adapter(tmp_path / "hollow", 32))
    assert (adapter.config["r"], adapter.weights) == (32, {})
