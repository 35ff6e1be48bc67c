"""Errands: each offers the tools that it needs and a few others."""

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketEngine
from dataenvgym.domains.tool_use.errands import SKILLS, ErrandsTask
from dataenvgym.domains.tool_use.problem import Preparation, ToolUseProblem
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import Message, ToolCall
from dataenvgym.tool_formats import as_reply

SMALL = {"n_train": 28, "n_validation": 28, "n_test": 28}


@pytest.mark.parametrize("n_others", [0, 1])
def test_prompts_and_records_offer_the_needed_tools_and_others(n_others):
    task = ErrandsTask(**SMALL, n_others=n_others)
    for instance in task.instances:
        prepared = task.domain.prepared(instance)
        needed = {call.name for call in prepared.problem.gold}
        assert needed <= {tool.name for tool in prepared.tools}
        assert len(prepared.tools) == len(needed) + n_others
        assert task.domain.prompt(instance)[0].tools == prepared.tools
    plan = [Assignment(2, skill=skill) for skill in SKILLS]
    for record in PocketEngine(task).generate(plan, None, np.random.default_rng(0)):
        problem = task.domain.problem_of_record(record)
        assert record.tools == task.domain.prepared(problem).tools
        assert task.domain.judge_record(record)


def test_doing_nothing_is_wrong_and_a_tool_that_is_not_offered_fails():
    task = ErrandsTask(**SMALL)
    environment = task.domain.make_environment()
    for instance in task.instances:
        environment.reset(seed=0, options={"instance": instance})
        *_, info = environment.step("Done.")
        assert not info["was_correct"]
    environment.reset(seed=0, options={"instance": task.instances[0]})
    pay = Message(
        role="assistant", content="", tool_calls=(ToolCall(name="pay", arguments={"amount": 1}),)
    )
    observation = environment.step(as_reply(pay))[0]
    assert observation[-1].content.startswith("Error: there is no tool 'pay'")


def test_gold_calls_and_tools_of_the_world_are_checked():
    instance = ErrandsTask(**SMALL).instances[0]
    world = ErrandsTask(**SMALL).domain.world
    for tools, complaint in ((["pay"], "not in `tools`"), (["carry", "fly"], "no tool 'fly'")):
        changed = instance.model_copy(update={"data": {**instance.data, "tools": tools}})
        with pytest.raises(InvalidInstanceError, match=complaint):
            Preparation(world, ToolUseProblem)(changed)
