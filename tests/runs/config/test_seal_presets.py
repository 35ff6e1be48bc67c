"""SEAL's presets: each setting with its source in https://github.com/Continual-Intelligence/SEAL."""

import os
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from dataenvgym.domains.few_shot.task import FewShotTask, ids_in
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import build_task, compose
from dataenvgym.runs.config.instantiation import build_section, build_value

KNOWLEDGE, ARC = "seal_knowledge_qwen25_7b", "seal_arc_llama32_1b"
PROJECTIONS = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"
FIVE = "q_proj,v_proj,gate_proj,up_proj,down_proj"

SETTINGS = {
    KNOWLEDGE: [
        ("student.path", "Qwen/Qwen2.5-7B", "scripts/TTT_server.sh: MODEL_NAME"),
        ("task.others.judge.model", "gpt-4.1", "src/utils.py: grade_with_gpt4"),
        ("task.sampling.temperature", 0.0, "scripts/TTT_server.sh: EVAL_TEMPERATURE"),
        ("task.sampling.stop", [], "src/inner/TTT_server.py: stop_ids, the end of a text alone"),
        ("agent.engine.style", "implications", "data_generation/make_squad_data.py: --prompt_key"),
        ("agent.engine.append_passage", True, "src/utils.py: build_train_sequences"),
        ("trainer.lora_rank", 32, "scripts/query_server.sh, column r"),
        ("trainer.lora_target", "q_proj,v_proj", "src/inner/TTT_server.py: PEFT's default"),
        ("trainer.packing", False, "src/inner/TTT_server.py: a row for each sequence"),
        ("arms.contexts", 200, "scripts/query_server.sh, n_articles of eval_baseline"),
        ("rest_em.edits", 5, "scripts/query_server.sh, column k"),
        ("rest_em.keep", "best", "src/EM/build_SFT_dataset.py: --k_best 1"),
        ("rest_em.needs_gain", False, "src/EM/build_SFT_dataset.py"),
        ("rest_em.trainer.lora_rank", 64, "scripts/train_SFT.sh: LORA_RANK"),
        ("rest_em.trainer.lora_target", PROJECTIONS, "scripts/train_SFT.sh: LORA_TARGET_MODULES"),
    ],
    ARC: [
        ("student.path", "meta-llama/Llama-3.2-1B-Instruct", "README.md, step 1"),
        ("student.format", "chat", "self-edit.py: apply_chat_template"),
        ("task.max_turns", 2, "eval-self-edits.py: number_of_attempts"),
        ("trainer.lora_rank", 128, "self-edit.py: LoraConfig"),
        ("trainer.lora_target", FIVE, "self-edit.py: LoraConfig"),
        ("arms.contexts", 10, "README.md, step 4: --n_tasks"),
        ("rest_em.edits", 15, "README.md, step 1: --n_self_edits_per_task"),
        ("rest_em.keep", "successes", "BC-self-edit.py: correct_prompts_responses"),
        ("rest_em.trainer.lora_rank", 16, "README.md, step 3: --lora_rank"),
        ("rest_em.trainer.lora_target", FIVE, "BC-self-edit.py: LoraConfig"),
    ],
}
COMMANDS = tuple(
    f"{at}.{o}"
    for at in ("trainer", "rest_em.trainer")
    for o in ("command=/bin/true", "warm=false")
)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    if "DATAENVGYM_DATA" not in os.environ:
        monkeypatch.setenv("DATAENVGYM_DATA", "/data")


def engine_of(config, task):
    section = OmegaConf.to_container(config.agent.engine, resolve=True)
    return build_value(section, "agent.engine", {"task": task, "teacher": None})


@pytest.mark.parametrize("experiment", SETTINGS)
def test_a_preset_has_the_published_settings(experiment):
    config = compose([f"experiment={experiment}"], name="adapt")
    expected = {key: value for key, value, _ in SETTINGS[experiment]}
    assert {key: OmegaConf.select(config, key) for key in expected} == expected


@pytest.mark.parametrize("experiment", SETTINGS)
def test_all_parts_of_a_preset_can_be_made(experiment):
    config = compose([f"experiment={experiment}", *COMMANDS], name="adapt")
    task = build_task(config)
    assert task.self_edit_engine in ("self_edit", "grid_self_edit")
    engine = engine_of(config, task)
    assert engine.sampling.temperature == config.agent.engine.temperature
    arms, rest_em = build_section(config, "arms"), build_section(config, "rest_em")
    assert arms.contexts == config.arms.contexts
    inner, outer = build_section(config, "trainer").config, rest_em.trainer.config
    assert (inner.lora_rank, outer.lora_rank) == (
        config.trainer.lora_rank,
        config.rest_em.trainer.lora_rank,
    )


def test_a_preset_for_adapt_is_refused_by_other_commands():
    with pytest.raises(ConfigurationError, match=f"experiment={ARC}"):
        compose([f"experiment={ARC}"])


def parts(*overrides):
    config = compose([*overrides, *COMMANDS], name="adapt")
    task = build_task(config)
    engine = engine_of(config, task)
    return task, engine, build_section(config, "arms"), build_section(config, "rest_em")


DATA = Path(os.environ.get("DATAENVGYM_DATA", "."))


@pytest.mark.skipif(not (DATA / "arc-agi").is_dir(), reason=f"ARC is not in {DATA}")
def test_the_writer_learns_from_seals_12_puzzles_and_its_10_others_are_evaluated():
    task, engine, arms, rest_em = parts(f"experiment={ARC}")
    evaluated, training = arms.chosen(task, engine, rest_em, seed=0)
    ids = [{c.id.rpartition("/")[2].rpartition("-")[0] for c in of} for of in (training, evaluated)]
    assert (len(ids[0]), len(ids[1])) == (12, 10)
    assert {"44f52bb0", "8e1813be"} < ids[0]
    assert {"358ba94e", "ce8d95cc"} < ids[1]
    assert sum(len(context.questions) for context in training) == 13  # 44f52bb0 has two tests


FILTERED = DATA / "seal" / "few-shot" / "data"


@pytest.mark.skipif(not FILTERED.is_dir(), reason=f"SEAL's repository is not in {DATA / 'seal'}")
def test_the_ids_of_the_preset_are_those_of_seals_filtered_files():
    train, test = (
        FILTERED / f"arc-agi_{of}_challenges_filtered_1B_{part}_set.json"
        for of, part in (("training", "training"), ("evaluation", "eval"))
    )
    config = compose([f"experiment={ARC}"], name="adapt")
    assert (len(ids_in(train)), len(ids_in(test))) == (12, 10)
    assert ids_in([*config.task.ids]) == ids_in(train) | ids_in(test)
    whole, filtered = build_task(config), FewShotTask({"train": train, "test": test})
    for split, n_tests in (("train", 13), ("test", 11)):
        found = {(i.instruction, i.answer) for i in filtered.on(split).instances}
        assert len(found) == n_tests
        assert found == {(i.instruction, i.answer) for i in whole.on(split).instances}


SQUAD = DATA / "squad" / "squad_val.json"


@pytest.mark.skipif(not SQUAD.is_file(), reason=f"SQuAD is not in {DATA}")
def test_50_passages_teach_the_writer_and_200_others_are_evaluated():
    sources = f"task.sources={{train: {SQUAD}, validation: {SQUAD}}}"
    shares = "task.fractions={train: 1, validation: 2, test: 0}"
    task, engine, arms, rest_em = parts(f"experiment={KNOWLEDGE}", sources, shares)
    evaluated, training = arms.chosen(task, engine, rest_em, seed=0)
    assert (len(training), len(evaluated)) == (50, 200)
    assert not {c.id for c in training} & {c.id for c in evaluated}


@pytest.mark.skipif(not SQUAD.is_file(), reason=f"SQuAD is not in {DATA}")
def test_the_small_preset_asks_all_questions_about_20_passages_with_3_edits_each():
    config = compose(["experiment=seal_knowledge_smollm2"], name="adapt")
    assert (config.arms.edits, config.predictor.format) == (3, "completion")
    task = build_task(config)
    arms, rest_em = build_section(config, "arms"), build_section(config, "rest_em")
    evaluated, training = arms.chosen(task, engine_of(config, task), rest_em, seed=0)
    assert (len(evaluated), len(training)) == (20, 8)
    passages = {context.questions[0].data["passage"] for context in evaluated}
    asked = [i for i in task.on("validation").instances if i.data["passage"] in passages]
    assert sum(len(context.questions) for context in evaluated) == len(asked)
