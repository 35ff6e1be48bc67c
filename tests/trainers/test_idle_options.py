from typing import Any

import pytest

from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.records import Message, ScoredDatum, SupervisedDatum
from dataenvgym.run_warnings import listening
from dataenvgym.trainers.support import warn_of_idle_options

PLAIN = SupervisedDatum(instruction="1 + 1", output="2")
SCORED = ScoredDatum(
    messages=(Message(role="user", content="1"), Message(role="assistant", content="2")),
    weights=(1.0,),
)


def told_of(options: dict[str, Any], record: Any, stage: str) -> list[str]:
    told: list[str] = []
    with listening(told.append):
        warn_of_idle_options(TrainingConfig(**options), [record], stage)
    return told


@pytest.mark.parametrize(
    ("options", "record", "stage"),
    [
        ({"pref_ftx": 1.0}, PLAIN, "sft"),
        ({"pref_loss": "simpo"}, PLAIN, "kto"),
        ({"kto_chosen_weight": 2.0}, PLAIN, "dpo"),
        ({"scored_clip": 0.2}, PLAIN, "sft"),
        ({"scored_as": "sft"}, PLAIN, "sft"),
        ({"scored_segment": 2}, SCORED, "scored"),
        ({"scored_threshold": 0.7}, SCORED, "scored"),
    ],
)
def test_an_option_of_another_stage_is_named(options, record, stage):
    ((name, value),) = options.items()
    (text,) = told_of(options, record, stage)
    assert f"trainer.{name}={value}" in text
    assert f"stage {stage}" in text


@pytest.mark.parametrize(
    ("options", "record", "stage"),
    [
        ({}, PLAIN, "sft"),
        ({"pref_ftx": 1.0, "pref_beta": 0.2, "pref_loss": "simpo"}, PLAIN, "dpo"),
        ({"pref_beta": 0.2, "kto_chosen_weight": 2.0}, PLAIN, "kto"),
        ({"scored_clip": 0.2, "scored_reduction": "sum"}, SCORED, "scored"),
        ({"scored_as": "sft", "scored_threshold": 0.7}, SCORED, "sft"),
        ({"scored_as": "dpo", "scored_segment": 2}, SCORED, "dpo"),
    ],
)
def test_options_that_are_used_are_not_named(options, record, stage):
    assert told_of(options, record, stage) == []
