"""Adapters as files and on a base; `test_adapter_options` compares answers with PEFT's."""

from typing import Any

import pytest
import torch

from dataenvgym.errors import AdapterError
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.adapters import Adapter, merge, new_adapter, put_on, stacked
from dataenvgym.students.trainers.student import load_base_model

CPU = torch.device("cpu")
WEIGHTS = "adapter_model.safetensors"


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([[3, 70, 80, 90, 1]])).logits.clone()


def adapter_for(base: Any, **options: Any) -> Adapter:
    """An adapter that changes the student."""
    adapter = Adapter.of(new_adapter(base, TrainingConfig(lora_rank=4, **options)), "")
    generator = torch.Generator().manual_seed(0)
    weights = {
        n: torch.randn(w.shape, generator=generator) * 0.1 for n, w in adapter.weights.items()
    }
    return Adapter(adapter.config, weights)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (WEIGHTS, b"\0" * 20, "is broken"),
        ("adapter_config.json", b"{", "is broken"),
        ("adapter_config.json", b'{"peft_type": "IA3"}', "peft_type is 'IA3'"),
        ("adapter_config.json", b"[]", "is broken"),
        # PEFT would import the module that `megatron_core` names
        (
            "adapter_config.json",
            b'{"peft_type": "LORA", "megatron_config": {"x": 1}, "megatron_core": "antigravity"}',
            "megatron_config is set, expected null",
        ),
        ("adapter_config.json", None, "is broken"),
    ],
)
def test_broken_files_are_refused_by_name(base, tmp_path, file, content, message):
    adapter_for(base).write(tmp_path)
    (tmp_path / file).unlink() if content is None else (tmp_path / file).write_bytes(content)
    with pytest.raises(AdapterError, match=message) as caught:
        Adapter.read(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_an_adapter_that_does_not_fit_is_refused(base, make_student, tmp_path):
    adapter = adapter_for(base)
    for name, options in (
        ("wide", {"width": 64}),
        ("flat", {"layers": 1}),
        ("deep", {"layers": 3}),
    ):
        folder = str(make_student(tmp_path / name, **options))
        other = load_base_model(folder, device=CPU, dtype=torch.float32)
        for put in (merge, put_on):
            with pytest.raises(AdapterError, match="does not fit the student"):
                put(other, adapter)
    name = next(iter(adapter.weights))
    superfluous = {**adapter.weights, "base_model.model.x.lora_A.weight": torch.zeros(4, 4)}
    for changed in (
        Adapter(adapter.config, superfluous),
        Adapter(adapter.config, {**adapter.weights, name: torch.zeros(4, 7)}),
        Adapter({**adapter.config, "r": 8}, adapter.weights),
    ):
        with pytest.raises(AdapterError, match="does not fit the student"):
            merge(base, changed)


@pytest.mark.parametrize("options", [{}, {"alpha_pattern": {"q_proj": 64}}])
def test_an_adapter_that_is_not_finite_is_refused(base, options):
    adapter = adapter_for(base)
    weights = {name: weight * float("nan") for name, weight in adapter.weights.items()}
    with pytest.raises(AdapterError, match="NaN"):
        merge(base, Adapter({**adapter.config, **options}, weights))


@pytest.mark.parametrize("options", [{}, {"use_rslora": True}], ids=["plain", "rslora"])
def test_stacked_adapters_have_the_sum_of_their_effects(base, options):
    first = adapter_for(base, **options)
    second = Adapter(first.config, {name: -0.3 * w for name, w in first.weights.items()})
    both = stacked([first, second])
    assert both.config["r"] == 8
    one_by_one = merge(merge(base, first), second)
    assert torch.allclose(logits(merge(base, both)), logits(one_by_one), atol=1e-4)
    assert not torch.allclose(logits(merge(base, both)), logits(merge(base, first)), atol=1e-2)
    three = merge(base, stacked([both, first]))
    assert torch.allclose(logits(three), logits(merge(one_by_one, first)), atol=1e-4)


def test_only_plain_adapters_of_the_same_layers_are_stacked(base):
    plain, other = adapter_for(base), adapter_for(base, lora_target="q_proj")
    with pytest.raises(AdapterError, match="same layers"):
        stacked([plain, other])
    with pytest.raises(AdapterError, match="an adapter has use_dora"):
        stacked([plain, Adapter({**plain.config, "use_dora": True}, plain.weights)])
