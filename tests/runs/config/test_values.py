"""The values of a configuration as YAML, whatever texts are among them."""

import random

import pytest
from omegaconf import OmegaConf

from dataenvgym.runs.config.values import literal, resolved_yaml


@pytest.mark.parametrize(
    "text",
    ["${five}", r"\${five}", r"\\${five}", "a ${b} ${c.d} $", "${", "\\", r"C:\${x}\y", "${${a}}"],
)
def test_a_text_is_read_back_as_it_is(text):
    values = {"a": text, "b": [{"c": text}, 3], "d": None}
    config = OmegaConf.create(literal(values))
    assert OmegaConf.to_container(config, resolve=True) == values
    for _ in range(2):  # a value that was read can be written again
        config = OmegaConf.create(resolved_yaml(config))
        assert OmegaConf.to_container(config, resolve=True) == values


def test_so_is_any_text_of_the_characters_that_mean_something():
    draw = random.Random(0)
    for _ in range(300):
        text = "".join(draw.choices(["\\", "$", "{", "}", "a", "'", '"', "\n", "${"], k=8))
        assert OmegaConf.to_container(OmegaConf.create(literal([text])), resolve=True) == [text]


def test_a_reference_becomes_the_value_it_refers_to():
    config = OmegaConf.create({"seed": 3, "agent": {"seed": "${seed}", "name": "of ${seed}"}})
    assert OmegaConf.create(resolved_yaml(config)).agent == {"seed": 3, "name": "of 3"}
