import pytest

from dataenvgym.errors import UnsupportedStageError
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.support import refuse_unsupported


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("'rm', expected one of sft, pt, dpo, kto", {"stage": "rm"}),
        ("'ppo', expected one of", {"stage": "ppo"}),
        ("template", {"template": "llama3"}),
        ("packing", {"packing": True}),
        ("fp16", {"fp16": True}),
        ("pure_bf16", {"extra": {"pure_bf16": True}}),
        ("pref_loss", {"stage": "dpo", "pref_loss": "ipo"}),
        ("pref_ftx", {"stage": "kto", "pref_ftx": 0.1}),
        ("do_train", {"do_train": False}),
        ("ref_model", {"model_name_or_path": "a", "extra": {"ref_model": "b"}}),
        ("neat_packing", {"extra": {"neat_packing": True}}),
        ("train_on_prompt is 'off'", {"extra": {"train_on_prompt": "off"}}),
        ("warmup_ratio is 'x'", {"extra": {"warmup_ratio": "x"}}),
        ("num_workers is \\[1\\]", {"extra": {"preprocessing_num_workers": [1]}}),
    ],
)
def test_an_option_that_would_not_be_acted_upon_is_refused_by_name(name, options):
    with pytest.raises(UnsupportedStageError, match=name):
        refuse_unsupported(TrainingConfig(**options))


def test_known_stages_are_not_refused():
    for options in (
        {},
        {"stage": "pt", "packing": True},
        {"stage": "dpo", "pref_ftx": 0.1},
        {"bf16": True, "extra": {"plot_loss": True, "adam_beta2": 0.99}},
        {"model_name_or_path": "a", "extra": {"ref_model": "a", "ref_model_adapters": "x"}},
    ):
        refuse_unsupported(TrainingConfig(**options))
