from typing import Any

import pytest
import torch

from dataenvgym.errors import AdapterError
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.adapters import Adapter, merge, new_adapter, stacked

TOKENS = torch.tensor([[3, 70, 80, 90, 1]])


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=TOKENS).logits.clone()


def adapter_for(base: Any, **options: Any) -> Adapter:
    """An adapter that changes the student."""
    adapter = Adapter.of(new_adapter(base, TrainingConfig(lora_rank=4, **options)), "")
    generator = torch.Generator().manual_seed(0)
    weights = {
        n: torch.randn(w.shape, generator=generator) * 0.1 for n, w in adapter.weights.items()
    }
    return Adapter(adapter.config, weights)


def test_an_adapter_that_does_not_fit_is_refused(base):
    adapter = adapter_for(base)
    name = next(iter(adapter.weights))
    lacking = {n: w for n, w in adapter.weights.items() if n != name}
    other_size = {**adapter.weights, name: torch.zeros(4, 7)}
    superfluous = {**adapter.weights, "base_model.model.x.lora_A.weight": torch.zeros(4, 4)}
    for weights in (lacking, other_size, superfluous):
        with pytest.raises(AdapterError, match="does not fit the student"):
            merge(base, Adapter(adapter.config, weights))
    with pytest.raises(AdapterError, match="does not fit the student"):
        merge(base, Adapter({**adapter.config, "r": 8}, adapter.weights))


def test_an_adapter_that_is_not_finite_is_refused(base):
    adapter = adapter_for(base)
    weights = {name: weight * float("nan") for name, weight in adapter.weights.items()}
    with pytest.raises(AdapterError, match="NaN"):
        merge(base, Adapter(adapter.config, weights))
    config = {**adapter.config, "alpha_pattern": {"q_proj": 64}}
    with pytest.raises(AdapterError, match="NaN"):
        merge(base, Adapter(config, weights))


@pytest.mark.parametrize("options", [{}, {"use_rslora": True}], ids=["plain", "rslora"])
def test_stacked_adapters_have_the_sum_of_their_effects(base, options):
    first = adapter_for(base, **options)
    second = Adapter(first.config, {name: -0.3 * w for name, w in first.weights.items()})
    both = stacked([first, second])
    assert both.config["r"] == 8
    one_by_one = merge(merge(base, first), second)
    assert torch.allclose(logits(merge(base, both)), logits(one_by_one), atol=1e-4)
    assert not torch.allclose(logits(merge(base, both)), logits(merge(base, first)), atol=1e-2)
    three = stacked([both, first])
    expected = merge(one_by_one, first)
    assert torch.allclose(logits(merge(base, three)), logits(expected), atol=1e-4)


def test_only_plain_adapters_of_the_same_layers_are_stacked(base):
    plain, other = adapter_for(base), adapter_for(base, lora_target="q_proj")
    with pytest.raises(AdapterError, match="same layers"):
        stacked([plain, other])
    dora = Adapter({**plain.config, "use_dora": True}, plain.weights)
    with pytest.raises(AdapterError, match="an adapter has use_dora"):
        stacked([plain, dora])
