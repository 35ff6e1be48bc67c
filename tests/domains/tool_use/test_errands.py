"""Errands: each offers the tools that it needs and a few others."""

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketEngine
from dataenvgym.domains.tool_use.errands import SKILLS, ErrandsTask
from tests.domains.tool_use.phone_world import say

SMALL = {"n_train": 28, "n_validation": 28, "n_test": 28}


@pytest.mark.parametrize(("n_others", "n_examples"), [(0, 0), (1, 0), (0, 2)])
def test_prompts_and_records_offer_the_needed_tools_and_others(n_others, n_examples):
    task = ErrandsTask(**SMALL, n_others=n_others, n_examples=n_examples)
    for instance in task.instances:
        prepared = task.domain.prepared(instance)
        needed = {call.name for call in prepared.problem.gold}
        assert needed <= {tool.name for tool in prepared.tools}
        assert len(prepared.tools) == len(needed) + n_others
        assert task.domain.prompt(instance)[0].tools == prepared.tools
    plan = [Assignment(2, skill=skill) for skill in SKILLS]
    for record in PocketEngine(task).generate(plan, None, np.random.default_rng(0)):
        problem = task.domain.problem_of_record(record)
        prompt = task.domain.prompt(problem)
        assert record.conversation[: len(prompt)] == prompt
        assert task.domain.judge_record(record)
    for instance in task.on("train").instances:
        gold, prompt = task.domain.gold_record(instance), task.domain.prompt(instance)
        assert gold.conversation[: len(prompt)] == prompt
        assert task.domain.problem_of_record(gold).data == instance.data


@pytest.mark.parametrize("system", ["", "Use your tools."])
def test_earlier_turns_are_other_solved_errands_of_the_train_split_for_the_same_skill(system):
    task = ErrandsTask(**SMALL, n_examples=2, system_prompt=system)
    again = ErrandsTask(**SMALL, n_examples=2, system_prompt=system)
    family = task.domain.family
    for split in ("train", "validation", "test"):
        for one, same in zip(task.on(split).instances, again.on(split).instances, strict=True):
            assert one == same
            *turns, request = task.domain.prompt(one)[bool(system) :]
            assert request.content == one.instruction
            for asked, called in zip(turns[::2], turns[1::2], strict=True):
                problem, _ = family.find(asked.content)
                assert problem.skill.name == one.skill
                assert family.split_of(problem.operands.values()) == "train"
                assert problem.operands != family.find(one.instruction)[0].operands
                assert called.tool_calls == problem.steps[0].tool_calls


@pytest.mark.parametrize("system", ["", "Use your tools."])
def test_calls_of_earlier_turns_are_not_the_students(system):
    task = ErrandsTask(**SMALL, n_examples=1, system_prompt=system)
    for instance in task.instances:
        nothing = task.domain.conversation(instance, ["Nothing."])
        assert not nothing.was_correct
        assert task.domain.tried_text(nothing) == "Nothing."
        right = task.domain.gold_conversation(instance)
        assert right.was_correct
        plain = right.instance.model_copy(update={"data": {**instance.data, "earlier": []}})
        bare = task.domain.gold_conversation(plain)
        assert task.domain.answer_given(right) == task.domain.answer_given(bare)
        assert task.domain.tried_text(right) == task.domain.tried_text(bare)


def test_doing_nothing_is_wrong_and_a_tool_that_is_not_offered_fails():
    task = ErrandsTask(**SMALL)
    environment = task.domain.make_environment()
    for instance in task.instances:
        environment.reset(seed=0, options={"instance": instance})
        *_, info = environment.step("Done.")
        assert not info["was_correct"]
    environment.reset(seed=0, options={"instance": task.instances[0]})
    observation = environment.step(say({"name": "pay", "arguments": {"amount": 1}}))[0]
    assert observation[-1].content.startswith("Error: there is no tool 'pay'")
