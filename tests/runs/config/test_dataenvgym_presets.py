"""DataEnvGym's presets: each setting with its source in https://github.com/codezakh/DataEnvGym."""

import re
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose

PAGE = Path(__file__).parents[3] / "docs" / "reproducing.md"
COMMANDS = [
    tuple(line.split())
    for line in re.findall(r"^    dataenvgym run (\S+ agent=\w+)$", PAGE.read_text(), re.MULTILINE)
]
MATH, CODE, PLANS = (
    "dataenvgym_math_gemma2_2b",
    "dataenvgym_livecodebench_llama3_8b",
    "dataenvgym_mnms_llama3_8b",
)
OF_MATH = "examples/math"
OF_CODE = "examples/livecodebench"
OF_PLANS = "examples/tool_use"
CONFIGS = "src/dataenvgym/configs/llama_factory/llama3_lora_sft.yaml"
AGENTS = "src/dataenvgym/gym/data_generation_agents"

ALL = [
    ("environment.mode", "accumulate", "gym/accumulate_train_loop.py"),
    ("trainer.warmup_steps", 0.1, CONFIGS),
    ("task.sampling.temperature", 0.0, OF_MATH),
]
SETTINGS = {
    (MATH, "open_ended"): [
        *ALL,
        ("teacher.model", "gpt-4o-mini", f"{OF_MATH}/open_ended.py"),
        ("task.sampling.max_tokens", 350, f"{OF_MATH}/open_ended.py"),
        ("task.balance", ["level", "type"], "tasks/math/MATH/task.py: balanced_sampler"),
        ("task.examples", "math", f"{OF_MATH}/open_ended.py: prepare_few_shot_prompt"),
        ("task.examples_for", "base", f"{OF_MATH}/open_ended.py: prompt_formatter_for_base_model"),
        ("agent.records_per_iteration", 120, f"{OF_MATH}/open_ended.py"),
        ("agent.engine.batch_size", 10, f"{OF_MATH}/open_ended.py: data_specs_per_llm_call"),
        ("agent.policy.together", 10, f"{OF_MATH}/open_ended.py: data_specs_per_llm_call"),
        ("agent.engine.examples_per_request", 3, f"{AGENTS}/math/baselines/open_ended.py"),
    ],
    (MATH, "skill_list"): [
        ("agent.policy.per_skill", 10, f"{OF_MATH}/skill_list.py: hypotheses x specs"),
        ("agent.engine.hypotheses_prompt", "hypotheses", f"{AGENTS}/math/baselines/skill_list.py"),
    ],
    (MATH, "skill_tree"): [
        ("agent.policy.subskills", 2, f"{OF_MATH}/skill_tree.py: explore_action"),
        ("agent.policy.records_each", 30, f"{OF_MATH}/skill_tree.py: explore_action"),
        ("agent.policy.most_per_skill", 200, f"{OF_MATH}/skill_tree.py: max_data_for_skill"),
        ("agent.policy.widen", None, "every skill is explored"),
        ("episode.iterations", 20, f"{OF_MATH}/skill_tree.py: 10 cycles of 2"),
    ],
    (MATH, "random"): [
        ("agent.records_per_iteration", 120, f"{AGENTS}/math/random.py"),
        ("agent.engine.batch_size", 10, f"{AGENTS}/math/random.py"),
    ],
    (CODE, "open_ended"): [
        *ALL,
        ("teacher.model", "gpt-4o", f"{AGENTS}/code/baselines/open_ended.py"),
        ("task.sampling.max_tokens", 2000, "trainable_predictors/code/vllm_predictor.py"),
        ("task.sources.validation.files", ["test2.jsonl"], "tasks/code/livecodebench_task.py"),
        ("task.sources.test.files", ["test.jsonl"], "tasks/code/livecodebench_task.py"),
        ("agent.policy.per_error", 5, f"{OF_CODE}/open_ended.py"),
        ("agent.engine.examples_per_request", 1, f"{AGENTS}/code/baselines/open_ended.py"),
        ("agent.engine.solution_prompt", "code_solution", "answer_code_generation_question"),
    ],
    (CODE, "skill_list"): [
        ("agent.policy.per_skill", 5, f"{OF_CODE}/skill_list.py"),
    ],
    (CODE, "skill_tree"): [
        ("agent.policy.subskills", 2, f"{OF_CODE}/skill_tree.py"),
        ("agent.policy.records_each", 30, f"{OF_CODE}/skill_tree.py"),
        ("agent.policy.most_per_skill", 200, f"{OF_CODE}/skill_tree.py"),
        ("agent.engine.examples_per_request", 3, f"{AGENTS}/code/baselines/skill_tree.py"),
        ("environment.generations_per_training", 1, f"{OF_CODE}/skill_tree.py: run_episode"),
    ],
    (CODE, "random"): [
        ("agent.records_per_iteration", 50, f"{AGENTS}/code/baselines/random.py"),
        ("agent.engine.batch_size", 5, f"{AGENTS}/code/baselines/random.py"),
    ],
    (PLANS, "open_ended"): [
        *[
            ("trainer.cutoff_len", 1600, OF_PLANS) if s[0].endswith("cutoff_len") else s
            for s in ALL
        ],
        ("teacher.model", "gpt-4o", f"{AGENTS}/tool_use/baselines/open_ended.py"),
        ("task.sampling.max_tokens", 256, "trainable_predictors/tool_use/vllm_predictor.py"),
        ("agent.policy.per_error", 2, f"{OF_PLANS}/open_ended.py"),
        ("agent.records_per_iteration", 60, f"{OF_PLANS}/open_ended.py"),
    ],
    (PLANS, "skill_list"): [
        ("agent.policy.per_skill", 2, f"{OF_PLANS}/skill_list.py"),
        ("agent.policy.skills", 30, f"{OF_PLANS}/skill_list.py"),
        ("agent.policy.choose", "random_below", f"{OF_PLANS}/skill_list.py: sampling_method"),
        ("agent.policy.below", 0.8, f"{AGENTS}/tool_use/baselines/skill_list.py"),
        ("agent.records_per_iteration", 60, "2 for each of 30 skills"),
        ("episode.iterations", 10, f"{OF_PLANS}/skill_list.py: num_cycles"),
    ],
    (PLANS, "random"): [
        ("agent.records_per_iteration", 60, f"{AGENTS}/tool_use/baselines/random.py"),
        ("agent.engine.batch_size", 3, f"{AGENTS}/tool_use/baselines/random.py"),
    ],
}


@pytest.fixture(autouse=True)
def data(monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")


def test_the_page_has_a_command_for_every_agent_of_every_experiment():
    agents = {"open_ended", "skill_list", "skill_tree", "random"}
    agents |= {"open_ended_no_state", "skill_list_no_state"}
    expected = {(f"experiment={e}", f"agent={a}") for e in (MATH, CODE, PLANS) for a in agents}
    assert set(COMMANDS) == expected


@pytest.mark.parametrize(("experiment", "agent"), SETTINGS)
def test_a_row_has_the_published_settings(experiment, agent):
    config = compose([f"experiment={experiment}", f"agent={agent}"])
    found = {key: OmegaConf.select(config, key) for key, _, _ in SETTINGS[experiment, agent]}
    found = {k: list(v) if OmegaConf.is_list(v) else v for k, v in found.items()}
    assert found == {key: value for key, value, _ in SETTINGS[experiment, agent]}


@pytest.mark.parametrize("experiment", [MATH, CODE, PLANS])
def test_without_state_the_same_policy_is_blind(experiment):
    for agent in ("open_ended", "skill_list"):
        seeing = compose([f"experiment={experiment}", f"agent={agent}"])
        blind = compose([f"experiment={experiment}", f"agent={agent}_no_state"])
        hidden = OmegaConf.to_container(blind.agent.policy.policy)
        shown = OmegaConf.to_container(seeing.agent.policy)
        assert blind.agent.policy._target_.endswith("BlindPolicy")
        assert hidden | {"per_error": None} == shown | {"per_error": None}
        assert blind.prompt == seeing.prompt
        assert blind.episode.iterations == seeing.episode.iterations


@pytest.mark.parametrize("task", ["math", "livecodebench", "mnms"])
def test_the_two_students_of_a_task_differ_in_nothing_else(task):
    one, other = (
        compose([f"experiment=dataenvgym_{task}_{s}"]) for s in ("gemma2_2b", "llama3_8b")
    )
    other.student.path = one.student.path
    assert one == other


def test_the_command_line_wins_and_other_agents_have_the_common_settings():
    given = [f"experiment={MATH}", "agent=skill_list", "agent.policy.per_skill=3"]
    config = compose([*given, "skills=gold", "prompt=records", "task.per_cell=5"])
    assert (config.agent.policy.per_skill, config.task.per_cell) == (3, 5)
    assert (config.skills._target_, config.episode.iterations) == (None, 3)
    assert config.prompt == compose(["agent/engine=llm"]).prompt
    edge = compose([f"experiment={MATH}", "agent=edge"])
    assert (edge.agent.records_per_iteration, edge.episode.iterations) == (120, 10)
    assert edge.agent.engine._target_.endswith("LLMEngine")


def test_eight_gpus_train_on_as_many_records_a_step(monkeypatch):
    config = compose([f"experiment={MATH}", "trainer/devices=eight_gpus"])
    per_step = config.trainer.per_device_train_batch_size * len(config.trainer.gpus)
    assert config.trainer.effective_batch_size % per_step == 0


@pytest.mark.parametrize("experiment", [PLANS, "epo_webshop_llama3_8b"])
def test_a_task_that_the_experiment_does_not_know_is_refused(experiment):
    with pytest.raises(ConfigurationError, match=rf"experiment={experiment}: .*task\."):
        compose([f"experiment={experiment}", "task=gsm8k"])
