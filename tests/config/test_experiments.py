"""The preset of EPO's strategist at full size: what it composes, and what LLaMA-Factory reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dataenvgym.agents import ScoredTriesEngine
from dataenvgym.agents.fitting import check_fit
from dataenvgym.config import build_agent, build_task, compose
from dataenvgym.config.targets import build_section

EPO = "experiment=epo_sotopia_llama3_8b"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_epo_trains_all_weights_with_its_published_options(tmp_path: Path) -> None:
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


def test_epo_has_a_strategist_whose_tries_are_scored(key: None, tmp_path: Path) -> None:
    config = compose([EPO, f"runs_dir={tmp_path}"])
    task = build_task(config)
    agent = build_agent(config, task=task)
    check_fit(task, agent, shows_skills=False)
    assert isinstance(agent.engine, ScoredTriesEngine)
    assert agent.engine.judge is task.others["judge"]
    assert task.others.keys() == {"speaker", "partner", "judge"}
    assert "Strategy: ..." in task.domain.text_of(task.instances[0])
    assert config.trainer.scored_as == "sft"  # LLaMA-Factory refuses weights
    assert config.environment.max_records == 10_000
    n = len(task.on("train").instances) * agent.engine.samples
    assert n >= agent.records_per_iteration
