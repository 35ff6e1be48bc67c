"""The training file has LLaMA-Factory's option names, all of them and no others."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from dataenvgym.errors import ConfigurationError, DatasetFormatError
from dataenvgym.students.llama_factory import TrainingConfig

PLACES: dict[str, Any] = {
    "model_name_or_path": "Qwen/Qwen3-0.6B",
    "dataset": "custom_sft_dataset",
    "dataset_dir": "/data/dataset",
    "output_dir": "/data/adapter",
}

OURS = {name for name in TrainingConfig.model_fields if name.startswith("scored_")}
OURS |= {"effective_batch_size", "pref_discount", "chat_template_kwargs", "curriculum"}


@pytest.mark.parametrize("stage", ["sft", "pt", "dpo", "kto", "rm", "ppo"])
def test_a_file_for_llama_factory_has_no_options_of_scored_records(tmp_path, stage):
    options: Any = {"scored_as": "sft", "scored_threshold": 0.1, "scored_segment": "tail"}
    options |= {} if stage == "dpo" else {"pref_discount": 0.7}
    config = TrainingConfig(
        **PLACES, stage=stage, scored_reduction="sum", scored_clip=0.2, scored_kl=0.1, **options
    )
    config.with_options(extra={"flash_attn": "sdpa"}).write(tmp_path / "training.yaml")
    options = yaml.safe_load((tmp_path / "training.yaml").read_text())
    known = TrainingConfig.model_fields.keys() - {*OURS, "extra"}
    assert options.keys() <= known | {"flash_attn"}
    assert options["flash_attn"] == "sdpa"
    assert None not in options.values()


@pytest.mark.parametrize(
    "options",
    [
        {"stage": "scored", "scored_clip": 0.2, "scored_clip_high": 0.28, "scored_kl": 1e-4},
        {"stage": "kto", "template": "qwen3", "learning_rate": 1e-5, "warmup_steps": 0.1,
            "extra": {"plot_loss": True, "max_samples": 3, "run_name": "é: 'no'"}},
    ],
)  # fmt: skip
def test_a_written_file_is_read_back_the_same(tmp_path, options):
    config = TrainingConfig(**PLACES, **options)
    config.write(tmp_path / "training.yaml")
    assert TrainingConfig.read(tmp_path / "training.yaml") == config


def test_omegaconf_reads_the_file_as_we_do(tmp_path):
    """LLaMA-Factory reads it with OmegaConf, whose YAML is not quite PyYAML's."""
    for text in ("1e3", "on", "null", "nan", ".inf", "0x1f", "1_000", "~", "- a", "é: #", "", "a:"):
        config = TrainingConfig(**PLACES, learning_rate=1e-7, extra={"run_name": text})
        config.write(tmp_path / "training.yaml")
        loaded = OmegaConf.load(tmp_path / "training.yaml")
        assert OmegaConf.to_container(loaded) == config.options()


def test_paths_are_written_absolute_and_names_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("student").mkdir()
    config = TrainingConfig(
        model_name_or_path=Path("student"),
        adapter_name_or_path="someone/adapter",
        dataset="a",
        dataset_dir="dataset",
        output_dir=Path("adapter"),
    )
    config.write(Path("training.yaml"))
    options = yaml.safe_load(Path("training.yaml").read_text())
    assert options["model_name_or_path"] == str(tmp_path / "student")
    assert options["adapter_name_or_path"] == "someone/adapter"
    assert options["dataset_dir"] == str(tmp_path / "dataset")
    assert options["output_dir"] == str(tmp_path / "adapter")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lora_rnak": 8}, "lora_rnak"),
        ({"extra": {"seed": 1}}, "extra"),
        ({"lora_rank": 0}, "lora_rank is 0: "),
        ({"stage": "sff"}, "stage is 'sff'"),
        ({"seed": 2**32}, "seed is 4294967296: "),
        ({"learning_rate": float("nan")}, "learning_rate is nan: "),
        ({"scored_clip_high": 2.0}, "scored_clip"),
        ({"scored_clip_dual": 2.0}, "scored_clip"),
        ({"bf16": True, "fp16": True}, "fp16"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        TrainingConfig().with_options(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"output_dir": "/data/${x}"},
        # from which the next training could not continue
        {"output_dir": "/a,b/adapter"},
        {"adapter_name_or_path": "/a,b/adapter"},
    ],
)
def test_a_file_that_llama_factory_would_read_otherwise_is_not_written(options, tmp_path):
    with pytest.raises(ConfigurationError, match="comma"):
        TrainingConfig(**{**PLACES, **options}).write(tmp_path / "training.yaml")
    assert not (tmp_path / "training.yaml").exists()


def test_where_a_file_is_silent_llama_factorys_defaults_hold(tmp_path):
    path = tmp_path / "theirs.yaml"
    path.write_text("stage: pt\ntemplate: null\nlora_rank: 4\nwarmup_ratio: 0.1\nlr: null\n")
    config = TrainingConfig.read(path)
    assert (config.lora_alpha, config.learning_rate, config.seed) == (8, 5e-5, 42)
    assert config.packing is True
    assert config.extra == {"warmup_ratio": 0.1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stage: [", "YAML"),
        ("- sft", "options by name"),
        ("lora_rank: many", "lora_rank is 'many': "),
    ],
)
def test_an_error_in_a_file_names_the_file(text, message, tmp_path):
    (tmp_path / "training.yaml").write_text(text)
    with pytest.raises(DatasetFormatError, match=rf"(?s)training\.yaml: .*{message}"):
        TrainingConfig.read(tmp_path / "training.yaml")
