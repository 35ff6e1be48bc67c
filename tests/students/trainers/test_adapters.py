from pathlib import Path
from typing import Any

import pytest
import torch

from dataenvgym.errors import AdapterError
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.adapters import Adapter, new_adapter, put_on
from dataenvgym.students.trainers.student import load_base_model

TOKENS = torch.tensor([[3, 70, 80, 90, 1]])
WEIGHTS = "adapter_model.safetensors"


def load(folder: Path) -> Any:
    return load_base_model(str(folder), device=torch.device("cpu"), dtype=torch.float32)


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=TOKENS).logits.clone()


def randomise(model: Any, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)


@pytest.fixture
def folder(base, tmp_path):
    """An adapter's folder, with something in it that changes the student."""
    model = new_adapter(base, TrainingConfig(lora_rank=4))
    randomise(model)
    Adapter.of(model, "student").write(tmp_path / "adapter")
    return tmp_path / "adapter"


def test_a_new_adapter_changes_nothing_and_is_on_every_linear_layer(base):
    model = new_adapter(base, TrainingConfig(lora_rank=4))
    assert torch.equal(logits(model), logits(base))
    trained = {name.split(".")[-4] for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {"q_proj", "k_proj", "v_proj", "o_proj"} | {
        "gate_proj",
        "up_proj",
        "down_proj",
    }
    assert not any(p.requires_grad for p in base.parameters())


def test_an_adapter_of_another_base_is_refused(make_student, folder, tmp_path):
    wider = load(make_student(tmp_path / "wider", width=64))
    shallower = load(make_student(tmp_path / "shallower", layers=1))
    deeper = load(make_student(tmp_path / "deeper", layers=3))
    for other in (wider, shallower, deeper):
        with pytest.raises(AdapterError, match="does not fit the student"):
            put_on(other, Adapter.read(folder))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (WEIGHTS, b"\0" * 20, "is broken"),
        ("adapter_config.json", b"{", "is broken"),
        ("adapter_config.json", b'{"peft_type": "IA3"}', "peft_type is 'IA3', expected 'LORA'"),
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
def test_broken_files_are_refused_by_name(folder, file, content, message):
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)
    with pytest.raises(AdapterError, match=message) as caught:
        Adapter.read(folder)
    assert str(folder) in str(caught.value)
