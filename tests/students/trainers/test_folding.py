from pathlib import Path
from typing import Any

import pytest
import torch

from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers import adapters as folding
from dataenvgym.students.trainers.adapters import new_adapter, speed_up_layers
from dataenvgym.students.trainers.student import load_base_model

TOKENS = torch.tensor([[3, 70, 80, 90, 1], [3, 71, 4, 91, 1]])


def adapted(student: Path, dtype: torch.dtype = torch.float32, **options: Any) -> Any:
    """A model whose adapter does something."""
    base = load_base_model(str(student), device=torch.device("cpu"), dtype=dtype)
    model = new_adapter(base, TrainingConfig(lora_rank=4, **options)).train()
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = torch.randn(parameter.shape, generator=generator) * 0.1
    return model


def gradients(model: Any) -> dict[str, torch.Tensor]:
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    loss = model(input_ids=TOKENS).logits.float().logsumexp(-1).square().sum()
    return dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))


def n_folded(model: Any) -> int:
    return sum("forward" in vars(layer) for layer in model.modules())


@pytest.mark.parametrize("options", [{}, {"use_rslora": True}], ids=["plain", "rslora"])
def test_small_layers_compute_the_same_outputs_and_gradients(tiny_student, options):
    as_peft, folded = (adapted(tiny_student, **options) for _ in range(2))
    speed_up_layers(folded)
    assert n_folded(folded) == 14
    assert torch.allclose(
        as_peft(input_ids=TOKENS).logits, folded(input_ids=TOKENS).logits, atol=1e-4
    )
    expected = gradients(as_peft)
    for name, gradient in gradients(folded).items():
        assert torch.allclose(gradient, expected[name], rtol=1e-3, atol=1e-3), name


def test_large_layers_stay_with_peft(tiny_student, monkeypatch):
    monkeypatch.setattr(folding, "_SMALL", 32 * 32)
    model = adapted(tiny_student)
    speed_up_layers(model)
    assert n_folded(model) == 8  # the four of attention in each of two blocks


@pytest.mark.parametrize(
    ("dtype", "options"),
    [(torch.float32, {"lora_dropout": 0.5}), (torch.bfloat16, {})],
    ids=["dropout", "bfloat16"],
)
def test_layers_that_cannot_be_folded_stay_with_peft(tiny_student, dtype, options):
    model = adapted(tiny_student, dtype, **options)
    speed_up_layers(model)
    assert n_folded(model) == 0
