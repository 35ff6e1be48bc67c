"""The registered environments of the domains."""

import shutil
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.few_shot.problem import FewShotProblem
from dataenvgym.records import TaskInstance
from tests.domains.social.social_scenes import instance, sale
from tests.processes import python

ADD = CodeProblem(entry_point="f", hidden=[[[1], {}, 2]])
MIRROR = FewShotProblem(demonstrations=[{"input": [[3, 4]], "output": [[4, 3]]}], input=[[1, 2]])
MUG = {
    "house": {"places": {"desk 1": {}}, "things": {"mug 1": {}}, "at": "desk 1"},
    "goal": {"type": "pick", "object": "mug", "target": "desk"},
}


def asked(instruction, answer=None, **fields):
    return TaskInstance(id="1", task="t", instruction=instruction, answer=answer, **fields)


EACH = {  # id: a problem, a right reply, a wrong one
    "Math": (asked("1 - 1/2?", "\\frac{1}{2}"), "Also ½: #### 0.5", "日本"),
    "Code": (
        asked("Write f.", data=ADD.data()),
        "def f(x):\n    return x + 1\n",
        "def f(x):\n    return x\n",
    ),
    "FewShot": (
        asked(MIRROR.text, "2 1", data=MIRROR.model_dump(mode="json")),
        "Mirrored:\n2 1",
        "1 2",
    ),
    "Social": (
        instance(sale(least=140, most=100), partner="fair"),
        "[leave]",
        "[action] offer 1 euros",
    ),
    "Knowledge": (asked("Topic: S\nWho won?", "Denver"), "The Denver.", "日本"),
    "TextWorld": (
        asked("Put the mug.", data=MUG),
        "Thought: It is in my hand.\nAction: put mug 1 in/on desk 1",
        "Action: look",
    ),
    "Orchestrate": (
        asked("1 x 2?", "2", skill="product"),
        '{"name": "answer", "arguments": {"model": "answer-1"}}',
        '{"name": "answer", "arguments": {"model": "answer-4"}}',
    ),
}


@pytest.fixture(params=EACH)
def domain(request):
    if request.param == "Code" and shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (Debian: bubblewrap)")
    return f"dataenvgym/{request.param}-v0", *EACH[request.param]


def test_the_checker_of_gymnasium_finds_nothing_to_warn_about(domain):
    id, problem, *_ = domain
    environment = gymnasium.make(id, instances=[problem])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment.unwrapped, skip_render_check=True)
    environment.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_of_both_kinds_score_replies(mode, domain):
    id, problem, right, wrong = domain
    environments = gymnasium.make_vec(
        id,
        num_envs=2,
        vectorization_mode=mode,
        vector_kwargs={"shared_memory": False} if mode == "async" else {},
        instances=[problem],
    )
    try:
        environments.reset(seed=0)
        _, rewards, terminated, _, _ = environments.step((right, wrong))
        assert np.array_equal(rewards, [1.0, 0.0])
        assert terminated[0]
    finally:
        environments.close()


def test_environments_and_tasks_cost_no_heavy_import():
    heavy = {"torch", "transformers", "datasets", "sympy", "reasoning_gym", "doctest", "redis"}
    code = ["import sys"]
    for domain in ("math", "code", "social", "knowledge", "few_shot", "orchestrate", "textworld"):
        for module in (f"{domain}.environment", f"{domain}.task"):
            loaded = f"{heavy} & set(sys.modules)"
            code.append(f"import dataenvgym.domains.{module}")
            code.append(f"assert not {loaded}, ({module!r}, {loaded})")
    done = python("-c", "\n".join(code))
    assert (done.returncode, done.stderr) == (0, "")
