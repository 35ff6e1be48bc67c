import pytest
import torch

from dataenvgym.students.predictors.generation import Nucleus

# Probabilities 0.1, 0.6, 0.0 and 0.3.
LOGITS = torch.tensor([0.1, 0.6, 0.0, 0.3]).log()


def draws(temperature: float, top_p: float, n: int = 4000) -> list[float]:
    """How often each token is drawn."""
    uniform = torch.linspace(0, 1, n + 1)[:-1].double().unsqueeze(1)
    draw = Nucleus(temperature, top_p, uniform)
    tokens = draw(LOGITS.expand(n, -1), torch.arange(n), 0)
    return [float((tokens == token).float().mean()) for token in range(4)]


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (1.0, [0.1, 0.6, 0.0, 0.3]),
        (0.5, [p**2 / 0.46 for p in (0.1, 0.6, 0.0, 0.3)]),
        (1e-30, [0.0, 1.0, 0.0, 0.0]),  # greedy, and does not overflow
    ],
)
def test_tokens_are_drawn_as_often_as_they_are_probable_at_a_temperature(temperature, expected):
    assert draws(temperature, 1.0) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [
        (0.3, [0.0, 1.0, 0.0, 0.0]),
        (0.6, [0.0, 1.0, 0.0, 0.0]),  # its mass is reached by one token
        (0.7, [0.0, 2 / 3, 0.0, 1 / 3]),
        (0.95, [0.1, 0.6, 0.0, 0.3]),
    ],
)
def test_a_nucleus_is_the_smallest_set_that_reaches_its_mass(top_p, expected):
    assert draws(1.0, top_p) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("top_p", [0.999, 1.0])
def test_a_token_without_mass_is_never_drawn(top_p):
    logits = torch.tensor([[float("-inf"), 0.0, float("-inf")]])
    for number in (0.0, 1 - 2**-53):
        uniform = torch.tensor([[number]], dtype=torch.float64)
        assert Nucleus(1.0, top_p, uniform)(logits, torch.tensor([0]), 0).tolist() == [1]
