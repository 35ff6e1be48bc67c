"""The preset of EPO's strategist at full size: its configuration and training file."""

import re

import pytest
import yaml
from omegaconf import OmegaConf

from dataenvgym.agents import ScoredTriesEngine
from dataenvgym.agents.compatibility import check_fit
from dataenvgym.config import build_agent, build_task, compose
from dataenvgym.config.commented_yaml import _Comments
from dataenvgym.config.composition import chosen_options, files_by_group, options_by_group
from dataenvgym.config.instantiation import build_section
from dataenvgym.config.overrides import keys_of
from dataenvgym.errors import ConfigurationError
from dataenvgym.llm.prompts import default_prompt

EPO = "experiment=epo_sotopia_llama3_8b"


def test_epo_trains_all_weights_with_its_published_options(tmp_path):
    trainer = build_section(compose([EPO, "trainer.command=/bin/true"]), "trainer")
    places = {"dataset": "d", "dataset_dir": str(tmp_path), "output_dir": str(tmp_path / "out")}
    model = {"model_name_or_path": "meta-llama/Meta-Llama-3-8B-Instruct"}
    trainer.config.model_copy(update=places | model).write(tmp_path / "training.yaml")
    written = yaml.safe_load((tmp_path / "training.yaml").read_text())
    expected = {
        "stage": "sft",
        "finetuning_type": "full",
        "bf16": True,
        "learning_rate": 1e-6,
        "lr_scheduler_type": "cosine",
        "num_train_epochs": 3.0,
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 8,
        "cutoff_len": 4096,
        "max_samples": 10_000,
    }
    assert {name: written[name] for name in expected} == expected
    assert trainer.config.warmup_steps == 0.03
    assert 0.03 in (written.get("warmup_steps"), written.get("warmup_ratio"))
    assert written["deepspeed"]["zero_optimization"]["stage"] == 3
    assert not [name for name in written if name.startswith("scored")]


def test_epo_has_a_strategist_whose_tries_are_scored(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    config = compose([EPO, f"runs_dir={tmp_path}"])
    task = build_task(config)
    agent = build_agent(config, task=task)
    check_fit(task, agent, shows_skills=False)
    assert isinstance(agent.engine, ScoredTriesEngine)
    assert agent.engine.judge is task.others["judge"]
    assert (agent.engine.normalize, agent.engine.discount) == ("dialogue", 0.99)
    assert agent.engine.asks_about_all
    assert agent.engine.turn_prompt == default_prompt("epo_turns")
    # its loss sums over the one dialogue of a batch, and is divided by accumulation and GPUs
    trainer = config.trainer
    assert (trainer.scored_reduction, trainer.per_device_train_batch_size) == ("mean", 1)
    assert (trainer.scored_clip, trainer.scored_kl) == (None, None)
    assert task.others.keys() == {"speaker", "partner", "judge"}
    assert "Strategy: ..." in task.domain.text_of(task.instances[0])
    assert config.trainer.scored_as is None  # its weights are learned
    assert config.environment.max_records == 10_000
    n = len(task.on("train").instances) * agent.engine.samples
    assert n >= agent.records_per_iteration


def test_the_options_of_its_engines_are_taken_from_the_command_line():
    social = ["task=pocket_social", "agent=open_ended", "agent/policy=free"]
    for engine, options in (
        ("scored_tries", ("turn_prompt=epo_turns", "normalize=dialogue")),
        ("segment_pairs", ("segment=2", "segment=tail", "rank_by=[goal]", "improvable={goal: 7}")),
    ):
        for option in options:
            compose([*social, f"agent/engine={engine}", f"agent.engine.{option}"])


GROUPS = options_by_group()
OF_RUN = sorted(name for name in GROUPS["experiment"] if not name.startswith("seal_"))


@pytest.mark.slow
@pytest.mark.parametrize("experiment", [name for name in OF_RUN if name != "none"])
def test_any_other_choice_with_an_experiment_fits_or_is_refused_in_the_users_words(
    experiment, monkeypatch
):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    content = yaml.safe_load(GROUPS["experiment"][experiment].read_text())
    chosen = [key.removeprefix("override ") for entry in content["defaults"] for key in entry]
    its_own = {re.findall(r"\w+", name)[0] for name in (*content, *chosen)}
    refusals: list[str] = []
    for group, options in GROUPS.items():
        for option in options if group.partition("/")[0] in its_own else ():
            try:
                compose([f"experiment={experiment}", f"{group}={option}"])
            except ConfigurationError as error:
                refusals.append(str(error))
    assert not [text for text in refusals if re.search(r"override|efaults list|mega|In '", text)]
    with pytest.raises(ConfigurationError, match=r"trainer=in_process: leave out one of them"):
        compose(["experiment=qwen3_8b_one_gpu", "trainer=in_process"])


@pytest.mark.parametrize("experiment", OF_RUN)
def test_a_value_whose_comment_names_null_takes_null_under_an_experiment(experiment, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    chosen = [f"experiment={experiment}"]
    config = compose(chosen)
    comments = _Comments(chosen_options(chosen), files_by_group(), "config")
    comments.explain(config)
    nullable = [key for key in keys_of(config) if "null" in comments.about.get(key, "")]
    assert len(nullable) > 5
    config = compose([*chosen, *(f"{key}=null" for key in nullable)])
    assert not [key for key in nullable if OmegaConf.select(config, key) is not None]
    with pytest.raises(ConfigurationError, match=r"predictor.student is null|seed is null"):
        compose([*chosen, "seed=null"])


def effective_batch(experiment: str) -> int:
    trainer = compose([f"experiment={experiment}"]).trainer
    each = trainer.per_device_train_batch_size * trainer.gradient_accumulation_steps
    return int(each * len(trainer.gpus))


def test_the_presets_of_one_student_train_with_the_same_batch():
    assert effective_batch("qwen3_8b_one_gpu") == effective_batch("qwen3_8b_eight_gpus")
