"""The name of a run."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose, run_name
from dataenvgym.runs.config.identity import decisive_values


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


def test_the_students_format_is_the_predictors():
    bare = decisive_values(compose(["student.format=completion"]))
    assert bare["student.format"] == bare["predictor.format"] == "completion"


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
