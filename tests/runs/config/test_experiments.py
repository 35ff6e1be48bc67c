"""The presets of published systems at full size: configurations, training files and prompts."""

import json
import re

import numpy as np
import pytest
import yaml
from omegaconf import OmegaConf

from dataenvgym.agents import ScoredTriesEngine
from dataenvgym.agents.compatibility import check_fit
from dataenvgym.domains.orchestrate.calls import Account
from dataenvgym.domains.orchestrate.domain import call_of
from dataenvgym.domains.orchestrate.rewards import efficiency
from dataenvgym.domains.textworld.task import TextworldHouseTask, TextworldShopTask
from dataenvgym.environments import IterationFiles, OpenEnded
from dataenvgym.errors import ConfigurationError
from dataenvgym.records.plans import Assignment
from dataenvgym.records.usage import NOTHING
from dataenvgym.runs.config import build_agent, build_task, compose
from dataenvgym.runs.config.commented_yaml import _Comments
from dataenvgym.runs.config.composition import chosen_options, keys_of
from dataenvgym.runs.config.groups import options_by_group, sources_by_group
from dataenvgym.runs.config.instantiation import build_section
from dataenvgym.runs.episodes import run_episode
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.teachers.prompts import default_prompt
from tests.fakes import Student

EPO = "experiment=epo_sotopia_llama3_8b"
IN_TEXT = {"alfworld": 40, "webshop": 10}
"""The most actions in each world of text."""


@pytest.mark.parametrize("name", ["sotopia", *IN_TEXT])
def test_epo_trains_all_weights_with_its_published_options(tmp_path, name):
    epo = f"experiment=epo_{name}_llama3_8b"
    trainer = build_section(compose([epo, "trainer.command=/bin/true"]), "trainer")
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
    assert agent.engine._turn_prompt == default_prompt("epo_turns")
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


@pytest.mark.parametrize("name", IN_TEXT)
def test_epo_in_a_world_of_text_scores_the_tries_of_a_strategist(name, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    small = ["agent.records_per_iteration=6", "agent.engine.samples=2", f"runs_dir={tmp_path}"]
    config = compose([f"experiment=epo_{name}_llama3_8b", *small])
    task = build_task(config)
    assert (task.name, task.domain.options.max_turns) == (name, IN_TEXT[name])
    assert task.domain.asks_others
    assert task.others.keys() == {"speaker", "judge"}
    assert (task.sampling.temperature, task.sampling.top_p) == (0.7, 0.7)
    # the same agent and environment on problems of our own, with scripts for models
    kind = TextworldShopTask if name == "webshop" else TextworldHouseTask
    replies = [*(problem := kind(n_train=1)).domain.gold_replies(problem.on("train").instances[0])]
    speaker = ScriptedPredictor(
        lambda c: replies[sum(m.role == "assistant" for m in c) % len(replies)]
    )
    judge = Student(lambda text, sampling: {"indexes": [2], "reasoning": "It began well."})
    own = kind(role="strategist", others={"speaker": speaker, "judge": judge}, n_train=1,
               n_validation=6, n_test=6)  # fmt: skip
    agent = build_agent(config, task=own)
    options = {key: config.environment[key] for key in ("mode", "replay", "max_records")}
    student = ScriptedPredictor(lambda conversation: f"Strategy: step {len(conversation)}.")
    environment = OpenEnded(own, student, directory=tmp_path / "run", **options)
    run_episode(environment, agent, iterations=1)
    records = IterationFiles(tmp_path / "run" / "iterations", 1).read_records()
    assert [record.kind for record in records] == ["scored"] * 2
    assert len(judge.asked) == 2
    for record in records:
        said = [m.content for m in record.conversation if m.role == "assistant"]
        assert said[0].startswith("Strategy: ")
        assert len(said) == len(replies)


GROUPS = options_by_group()
OF_RUN = sorted(name for name in GROUPS["experiment"] if not name.startswith("seal_"))


@pytest.mark.slow
@pytest.mark.parametrize("experiment", [name for name in OF_RUN if name != "none"])
def test_any_other_choice_with_an_experiment_fits_or_is_refused_by_what_was_typed(
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
    said = re.compile(rf"experiment={experiment}|must be given|environment variable")
    assert not [text for text in refusals if not said.search(text)]
    with pytest.raises(ConfigurationError, match="trainer/devices"):
        compose(["experiment=qwen3_8b_one_gpu", "trainer=in_process"])


@pytest.mark.parametrize("experiment", OF_RUN)
def test_a_value_whose_comment_names_null_takes_null_under_an_experiment(experiment, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    chosen = [f"experiment={experiment}"]
    config = compose(chosen)
    comments = _Comments(chosen_options(chosen), sources_by_group(), "config")
    comments.explain(config)
    nullable = [key for key in keys_of(config) if "null" in comments.about.get(key, "")]
    assert len(nullable) > 5
    config = compose([*chosen, *(f"{key}=null" for key in nullable)])
    assert not [key for key in nullable if OmegaConf.select(config, key) is not None]
    with pytest.raises(ConfigurationError, match=r"(student|seed) is null"):
        compose([*chosen, "seed=null"])


def effective_batch(experiment: str) -> int:
    trainer = compose([f"experiment={experiment}"]).trainer
    each = trainer.per_device_train_batch_size * trainer.gradient_accumulation_steps
    return int(each * len(trainer.gpus))


def test_the_presets_of_one_student_train_with_the_same_batch():
    assert effective_batch("qwen3_8b_one_gpu") == effective_batch("qwen3_8b_eight_gpus")


ORCHESTRATOR = [
    "experiment=orchestrator_8b",
    "task.endpoints=null",
    "+task.tiers.answer-1.accuracy=1",
    "+task.tiers.answer-4.accuracy=0",
]


def test_the_orchestrator_has_its_published_options(tmp_path):
    config = compose([*ORCHESTRATOR, "trainer.command=/bin/true"])
    trainer, task = build_section(config, "trainer").config, config.task
    assert config.student.path == "Qwen/Qwen3-8B"
    assert (trainer.learning_rate, trainer.finetuning_type, trainer.bf16) == (1e-6, "full", True)
    assert trainer.cutoff_len == config.predictor.max_model_len == 24_000 + 8_768
    assert (task.sampling.max_tokens, task.sampling.temperature, task.max_turns) == (8_768, 1, 30)
    assert task.documents == 30
    engine = config.agent.engine
    assert config.agent.records_per_iteration == 16 * engine.samples * engine.turns == 1_024
    assert trainer.scored_reduction == "token_mean"
    clips = (trainer.scored_clip, trainer.scored_clip_high, trainer.scored_clip_dual)
    assert (*clips, trainer.scored_kl) == (0.2, 0.28, 10, 1e-4)
    assert (config.environment.mode, config.environment.replay) == ("incremental", 0)


def test_the_orchestrator_is_asked_and_rewarded_as_in_tool_orchestra(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = [{"id": str(i), "question": f"Who won game {i}?", "answer": "Denver"} for i in range(60)]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    here = [f"task.sources={path}", f"runs_dir={tmp_path}", "task.graded_by=exact_match"]
    config = compose([*ORCHESTRATOR, *here])
    task = build_task(config)
    agent = build_agent(config, task=task)
    check_fit(task, agent, shows_skills=False)
    calls = [call_of(name, task.domain.tiers) for name in ("answer-1", "answer-4")]

    class Undecided:
        def predict(self, conversations, sampling):
            said = calls[sampling.seed % 2]
            return ScriptedPredictor(lambda _: said).predict(conversations, sampling)

    rng = np.random.default_rng(0)
    records = agent.engine.generate([Assignment(32)], Undecided(), rng)
    assert len(records) == 32
    first = records[0]
    assert first.system == "You are good at using tools."
    asked = first.messages[0].content
    assert re.fullmatch(r"Problem: Who won game \d+\?\s+Choose an appropriate tool\.", asked)
    assert [tool.name for tool in first.tools] == ["answer"]
    solved, failed = (
        {record.weights[0] for record in records if name in str(record.messages[-1].tool_calls)}
        for name in ("answer-1", "answer-4")
    )
    assert min(solved) > 0 > max(failed)
    took = NOTHING.model_copy(update={"cost": 0.02, "seconds": 40})
    assert efficiency(True, Account(tools=took)) == pytest.approx(1 - (5 * 0.02 + 40 / 500))
