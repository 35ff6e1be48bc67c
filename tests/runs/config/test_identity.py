"""The name of a run."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose, run_name
from dataenvgym.runs.config.identity import ADDED, decisive_values


def test_a_run_is_named_after_task_agent_seed_and_configuration():
    name = run_name(compose(["agent=random", "seed=3"]))
    assert name.startswith("pocket_math-random-seed3-")
    assert name == run_name(compose(["agent=random", "seed=3"]))
    assert run_name(compose(["name=mine"])) == "mine"
    own = compose(["agent=custom", "agent._target_=my_module.MyBestAgent"])
    assert run_name(own).startswith("pocket_math-my_best_agent-seed0-")


def test_the_name_depends_only_on_options_that_determine_results():
    name = run_name(compose([]))
    assert run_name(compose(["~task.n_train"])) == name
    for free in ("episode.iterations=9", "episode.metrics=tensorboard", "runs_dir=x"):
        assert run_name(compose([free])) == name
    for decisive in ("trainer.lora_rank=8", "environment.replay=1", "agent.policy.floor=0.1"):
        assert run_name(compose([decisive])).split("-")[-1] != name.split("-")[-1]


@pytest.mark.parametrize("option", ["trainer.num_train_epochs", "task.sampling.temperature"])
def test_a_whole_number_names_the_same_run_with_and_without_a_point(option):
    five = {run_name(compose([f"{option}={number}"])) for number in ("5", "5.0", "5e0")}
    assert len(five) == 1
    assert run_name(compose([f"{option}=5.5"])) not in five


def test_a_number_as_a_key_of_an_option_names_a_run():
    by = "trainer.curriculum={by: iteration, sections: [{mix: {%s: 1}}]}"
    first, second = (run_name(compose([by % number])) for number in (1, 2))
    assert first != second


def test_where_a_speaker_is_asked_does_not_name_a_run_and_who_it_is_does():
    user = ("+teacher@task.others.user=vllm", "task.others.user.model=m")
    judge = ("+predictor@task.others.judge=openai", "task.others.judge.model=m")
    name = run_name(compose([*user, *judge]))
    assert name != run_name(compose([*user])) != run_name(compose([]))
    for free in ("user.base_url=http://there", "user.max_cost=1.0", "judge.timeout=9.0"):
        assert run_name(compose([*user, *judge, f"task.others.{free}"])) == name
    assert run_name(compose([*user, *judge, "task.others.judge.model=n"])) != name


def test_a_format_of_chat_leaves_runs_as_they_were_before_there_were_formats():
    speaker = ["task=social", "task.others.partner=hf/X"]
    for options in (["predictor=openai", "predictor.model=m"], speaker):
        assert "chat" not in decisive_values(compose(options)).values()
    bare = decisive_values(compose(["student.format=completion"]))
    assert bare["student.format"] == bare["predictor.format"] == "completion"


def test_the_turns_of_orchestrated_tries_leave_runs_as_they_were_without_them():
    values = decisive_values(compose(["agent/engine=orchestrate_tries"]))
    assert "agent.engine.turns" not in values


def test_a_judge_has_its_own_format_not_the_students(monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    judge = ["task=squad", "+predictor@task.others.judge=openai", "task.others.judge.model=m"]
    config = compose(["student.format=completion", *judge])
    assert config.predictor.format == "completion"
    assert config.task.others.judge.format == "chat"


NAMES = ["a/b", "..", ".hidden", "", "a\x1b[31m", "a\nb", "a\0b", "a\ud800", "a\u202eb"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_not_a_plain_folder_is_refused(name):
    config = compose([])
    config.name = name
    with pytest.raises(ConfigurationError, match="the plain") as caught:
        run_name(config)
    assert str(caught.value).isprintable()


def test_where_a_server_runs_and_how_it_is_asked_may_change_from_call_to_call():
    vllm = ["predictor=vllm", "trainer=llama_factory"]
    name = run_name(compose(vllm))
    for free in (
        *("predictor.port=8000", "predictor.base_url=http://localhost:1", "predictor.sleep=true"),
        *("predictor.gpus=[0]", "predictor.timeout=5.0", "trainer.warm=false"),
        "predictor.api_key_variable=KEY",
    ):
        assert run_name(compose([*vllm, free])) == name, free
    assert run_name(compose([*vllm, "trainer.lora_rank=8"])) != name
    assert run_name(compose([*vllm, "predictor.dtype=bfloat16"])) != name


OWN_TASKS = """
from dataenvgym import PocketMathTask


class MyTask(PocketMathTask):
    name = "letters at home"


class MyDomainTask(PocketMathTask):
    pass
"""


def test_a_task_of_ones_own_is_named_by_its_name_if_it_was_given_one(tmp_path, monkeypatch):
    (tmp_path / "own_tasks.py").write_text(OWN_TASKS)
    monkeypatch.syspath_prepend(tmp_path)
    assert run_name(compose(["task=own_tasks.MyTask"])).startswith("letters_at_home-")
    # that of a class of ours does not count, and a class that is not there is refused elsewhere
    assert run_name(compose(["task=own_tasks.MyDomainTask"])).startswith("my_domain-")
    assert run_name(compose(["task=nowhere.MyTask"])).startswith("my-")
    assert run_name(compose(["task=own_tasks.MyTask", "+task.name=x"])).startswith("x-")


def test_a_run_from_before_an_option_was_added_has_the_same_name():
    now = compose(["task=pocket_math"])
    before = compose(["task=pocket_math"])
    for key, unchanged in ADDED:
        section, _, name = key.lstrip("*").partition(".")
        if name in before[section]:  # a task without other speakers has no options of theirs
            assert before[section][name] == unchanged
            delattr(before[section], name)
    assert run_name(before) == run_name(now)
    assert run_name(now) != run_name(compose(["task=pocket_math", "environment.gate=0.05"]))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["task=pocket_math"], "pocket_math-skill_list-seed0-c50b11f0"),
        (["task=pocket_code"], "pocket_code-skill_list-seed0-376bd9ad"),
        (["task=teach/traps", "agent=edge"], "teach_traps-edge-seed0-8e32b782"),
        (
            ["task=pocket_tools", "trainer=llama_factory", "predictor=vllm"],
            "pocket_tools-skill_list-seed0-59e7c0b2",
        ),
        (["student=smollm2", "task=smol_facts"], "smol_facts-skill_list-seed0-e430c888"),
    ],
)
def test_a_run_keeps_its_name_and_resumes_when_options_are_added(given, name):
    """An option that is new belongs into `ADDED`; a default that changes results changes this."""
    assert run_name(compose(given)) == name


AGENTS = {
    "bandit_thompson": "294af406",
    "bandit_ucb": "21c4abef",
    "edge": "a2b38ec1",
    "gold": "b55021e7",
    "none": "6ed7534f",
    "open_ended": "57c71b5c",
    "open_ended_no_state": "cccd49fc",
    "preference": "1e659e91",
    "random": "8f775ab4",
    "retention": "d10b3bb6",
    "seeded": "a63ac2f7",
    "skill_list": "c50b11f0",
    "skill_list_no_state": "1c0779d9",
    "skill_tree": "124d2d51",
    "skill_tree_configurable": "45e145b7",
    "skill_tree_fill_balanced": "cf656530",
    "skill_tree_llm": "4632dc18",
    "skill_tree_random": "4d890845",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_each_agent_keeps_the_name_of_its_run(agent):
    """Also where its policy is within another one; see the test above."""
    assert run_name(compose([f"agent={agent}"])).endswith(f"-seed0-{AGENTS[agent]}")


def test_a_trainer_within_an_adaptation_has_no_new_option_in_the_identity():
    config = compose(["experiment=seal_knowledge_pocket"], name="adapt")
    assert not [key for key in decisive_values(config) if "effective_batch_size" in key]
