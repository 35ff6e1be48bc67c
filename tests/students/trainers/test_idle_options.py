import pytest

from dataenvgym.events import hearing_warnings
from dataenvgym.records import Message, ScoredDatum, SupervisedDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.support import warn_of_idle_options

PLAIN = SupervisedDatum(instruction="1 + 1", output="2")
SCORED = ScoredDatum(
    messages=(Message(role="user", content="1"), Message(role="assistant", content="2")),
    weights=(1.0,),
)


@pytest.mark.parametrize(
    ("idle", "used", "record", "stage"),
    [
        ({"pref_ftx": 1.0}, {}, PLAIN, "sft"),
        ({"scored_clip": 0.2}, {}, PLAIN, "sft"),
        ({"scored_as": "sft"}, {}, PLAIN, "sft"),
        ({"kto_chosen_weight": 2.0}, {"pref_ftx": 1.0, "pref_loss": "simpo"}, PLAIN, "dpo"),
        ({"pref_discount": 0.7}, {}, PLAIN, "kto"),
        ({"pref_loss": "simpo"}, {"pref_beta": 0.2, "kto_chosen_weight": 2.0}, PLAIN, "kto"),
        (
            {"scored_threshold": 0.7},
            {"scored_clip": 0.2, "scored_reduction": "sum"},
            SCORED,
            "scored",
        ),
        ({"scored_segment": 2}, {"scored_as": "sft", "scored_threshold": 0.7}, SCORED, "sft"),
        (
            {"num_train_epochs": 7.0},
            {"curriculum": {"sections": [{"mix": {"sum": 1}}]}},
            PLAIN,
            "sft",
        ),
        ({}, {"scored_as": "dpo", "scored_segment": 2}, SCORED, "dpo"),
    ],
)
def test_the_options_of_other_stages_are_named_and_no_others(idle, used, record, stage):
    told: list[str] = []
    with hearing_warnings(told.append):
        warn_of_idle_options(TrainingConfig(**idle, **used), [record], stage)
    if not idle:
        assert told == []
        return
    ((name, value),) = idle.items()
    (text,) = told
    assert f"trainer.{name}={value} is " in text
    assert text.count("trainer.") == 1
    assert f"stage {stage}" in text
