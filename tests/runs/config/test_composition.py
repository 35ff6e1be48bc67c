"""The configuration for given overrides, and errors of impossible ones."""

from concurrent.futures import ThreadPoolExecutor

import hydra
import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.commented_yaml import describe
from dataenvgym.runs.config.composition import chosen_options
from dataenvgym.runs.config.groups import ENTRY_POINTS, options_by_group


def test_overrides_change_options_and_values_and_leave_no_trace():
    first = compose()
    assert first.task._target_.endswith("PocketMathTask")
    assert first.predictor.student == "pocket"
    assert first.agent.seed == first.seed == 0
    config = compose(["agent=random", "seed=3", "environment.replay=7", "+more=x"])
    assert (config.agent.name, config.agent.seed) == ("random", 3)
    assert (config.environment.replay, config.more) == (7, "x")
    assert compose() == first


@pytest.mark.parametrize(
    ("overrides", "environment"),
    [
        ([], "SkillList"),
        (["agent=custom", "agent._target_=my.Agent"], "SkillList"),
        (["agent=random"], "OpenEnded"),
        (["agent=random", "environment=skill_list"], "SkillList"),
        (["environment=open_ended", "agent=skill_list"], "OpenEnded"),
    ],
)
def test_an_agent_brings_its_environment_unless_one_is_named(overrides, environment):
    assert compose(overrides).environment.id == f"dataenvgym/{environment}-v0"


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("dora", {"use_dora": True}),
        ("rslora", {"use_rslora": True}),
        ("qlora", {"quantization_bit": 4, "bf16": True}),
        ("full", {"finetuning_type": "full", "learning_rate": 1e-5}),
    ],
)
def test_a_method_sets_its_own_options_and_an_override_wins(method, expected):
    plain = compose(["trainer=llama_factory"]).trainer
    chosen = compose(["trainer=llama_factory", f"trainer/method={method}"]).trainer
    assert {name: chosen[name] for name in chosen if chosen[name] != plain[name]} == expected
    own = [f"trainer/method={method}", "trainer.lora_rank=3", "trainer.learning_rate=0.5"]
    changed = compose(["trainer=llama_factory", *own]).trainer
    assert (changed.lora_rank, changed.learning_rate) == (3, 0.5)


def test_the_writer_of_self_edits_may_be_trained_by_llama_factory_beside_any_trainer():
    theirs = ["trainer@rest_em.trainer=llama_factory", "rest_em.trainer.gpus=[0, 1]"]
    for trainer, method in (("in_process", []), ("llama_factory", ["trainer/method=rslora"])):
        config = compose([f"trainer={trainer}", *method, *theirs], name="adapt")
        plain = compose([f"trainer={trainer}", *method])
        assert config.trainer == plain.trainer
        assert config.rest_em.trainer._target_ == "dataenvgym.students.trainers.LlamaFactoryTrainer"
        assert (config.rest_em.trainer.gpus, config.rest_em.trainer.use_rslora) == ([0, 1], False)


OF_LLAMA_FACTORY = ["trainer=llama_factory"]
GIVEN = {
    "task=math_jsonl": ["task.sources=problems.jsonl"],
    "task=code_jsonl": ["task.sources=problems.jsonl"],
    "task=knowledge": ["task.sources=passages.json"],
    "task=qa_jsonl": ["task.sources=questions.jsonl", "+task.tiers.answer-1.accuracy=0.5"],
    "predictor=fixed_orchestrator": ["predictor.calls=[answer-1]"],
    "task=plans": ["task.sources=plans.jsonl", "task.tools=tools.json"],
    "task=inspect": ["task.name=their_evals/sums"],
    "task=questions": ["task.sources=questions.jsonl"],
    "task=several": ["task.tasks=[pocket_math,pocket_code]"],
    "task=textworld_games": ["task.sources=games"],
    "task=mcp": ["task.sources=problems.jsonl"],
    "task=world": ["task.world=my_module.MyWorld", "task.sources=problems.jsonl"],
    **{
        f"{group}=custom": [f"{group.replace('/', '.')}._target_=my.Class"]
        for group in ENTRY_POINTS
        if group not in ("quality", "skills/embedder")
    },
    "quality=custom": ["quality.checks.custom._target_=my.Check"],
    "skills/embedder=custom": ["skills=clusters", "skills.embedder._target_=my.Embedder"],
    "predictor=openai": ["predictor.model=somebody"],
    "student=hf": ["student.path=somebody/model"],
    "teacher=openai": ["teacher.model=somebody"],
    "teacher=vllm": ["teacher.model=somebody"],
    "prompt": ["agent/engine=llm"],
    "skills=saved": ["skills.path=runs/earlier"],
    "skills=dataenvgym": ["skills.path=published.json"],
    "skills/embedder": ["skills=clusters"],
    **dict.fromkeys(("trainer/method", "trainer/deepspeed", "trainer/devices"), OF_LLAMA_FACTORY),
}


PLACES = {
    "speaker": "+speaker@task.others.partner",
    "examples": "+examples@task.examples",
}  # of groups that have no place of their own


@pytest.mark.slow
@pytest.mark.parametrize(
    "choice",
    [f"{g}={o}" for g, options in options_by_group().items() if g != "suite" for o in options],
)
def test_every_option_composes_and_its_first_line_describes_it(choice, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    group, option = choice.split("=")
    override = f"{PLACES.get(group, group)}={option}"
    name = "adapt" if choice.startswith("experiment=seal_") else "config"
    given = GIVEN.get(choice, GIVEN.get(group, []))
    OmegaConf.resolve(compose([override, *given], name=name))
    assert len(describe(options_by_group()[group][option])) > 8


def test_an_experiment_refuses_a_task_it_was_not_written_for(monkeypatch, tmp_path):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    experiment = "experiment=dataenvgym_math_gemma2_2b"
    with pytest.raises(ConfigurationError, match=r"task\.format"):
        compose([experiment, "task=livecodebench"])
    assert compose([experiment, "task=math_jsonl"]).task.name == "math"
    assert compose(["experiment=qwen3_8b_one_gpu", "task=pocket_code"]).task._target_
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        "# @package _global_\n# Mine\ndefaults:\n  - override /task: gsm8k\nseed: 3\n"
    )
    assert compose(["experiment=mine", "task=pocket_math"], config_dir=tmp_path).seed == 3


def test_your_own_files_are_listed_with_ours(tmp_path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "mine.yaml").write_text("# Mine\n_target_: my.Agent\nsize: 3\n")
    config = compose(["agent=mine", "agent.size=4"], config_dir=tmp_path)
    assert config.agent == {"_target_": "my.Agent", "size": 4}
    with pytest.raises(ConfigurationError, match="no folder"):
        compose(config_dir=tmp_path / "absent")


def test_a_hydra_application_that_composes_ours_keeps_its_own(tmp_path):
    (tmp_path / "app.yaml").write_text("x: 1\n")
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        before = GlobalHydra.instance().hydra
        compose(["seed=1"])
        assert GlobalHydra.instance().hydra is before


# groups that some options bring with them, or that users put where they want them, or of studies
OPTIONAL = ("trainer/", "skills/", "prompt", "speaker", "suite", "examples")


def test_the_chosen_options_name_one_file_of_each_group():
    groups, defaults = options_by_group(), chosen_options()
    groups = {name: own for name, own in groups.items() if not name.startswith(OPTIONAL)}
    assert {group: defaults[group] in groups[group] for group in groups} == dict.fromkeys(
        groups, True
    )


def test_one_choice_is_composed_once_and_each_caller_gets_a_copy(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(
        "hydra.compose",
        lambda *a, _compose=hydra.compose, **o: calls.append(a) or _compose(*a, **o),
    )
    (tmp_path / "agent").mkdir()
    mine = tmp_path / "agent" / "mine.yaml"
    mine.write_text("# Mine\n_target_: my.Agent\nsize: 3\nparts: {a: 1}\n")
    first = compose(["agent=mine", "agent.size=4", "+agent.parts.b=2"], config_dir=tmp_path)
    first.agent.parts.a = 7
    again = compose(["agent=mine", "seed=1"], config_dir=tmp_path)
    assert (again.agent.size, again.agent.parts, again.seed) == (3, {"a": 1}, 1)
    with ThreadPoolExecutor(8) as pool:
        given = ([f"seed={n}", "agent=mine"] for n in range(32))
        found = pool.map(lambda each: compose(each, config_dir=tmp_path).seed, given)
    assert list(found) == list(range(32))
    assert len(calls) == 1
    mine.write_text("# Mine\n_target_: my.Agent\nsize: 55\n")
    assert compose(["agent=mine"], config_dir=tmp_path).agent.size == 55
    assert len(calls) == 2
