"""A teacher and a student for every engine: they read any prompt, and err on half of it."""

import json
import re
from collections import Counter
from functools import cache
from itertools import count
from typing import Any
from zlib import crc32

import pytest
from omegaconf import OmegaConf

from dataenvgym.interfaces import Reply
from dataenvgym.records import Conversation, SupervisedDatum, TaskInstance
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.runs.config.instantiation import build_value
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Task
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import solves

WRONG = {
    "pocket_math": "#### 99999",
    "pocket_code": "def wrong(x):\n    return wrong",
    "pocket_tools": "#### wrong",
    "pocket_knowledge": "wrong",
    "pocket_orchestrate": "wrong",
    "pocket_textworld": "Action: wrong",
    "few_shot": "wrong",
    "pocket_few_shot": "wrong",
    "textworld_house": "Action: wrong",
    "textworld_shop": "Action: wrong",
}


class WillingTeacher:
    """Writes the records, the rewrites and the subskills that it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._numbers = count(100)

    def ask(self, conversations, sampling, *, purpose):
        self.asked += [c[-1].content for c in conversations]
        answer = getattr(self, f"_{purpose}")
        return [Reply(text=json.dumps(answer(c[-1].content))) for c in conversations]

    def _records(self, request: str) -> dict[str, Any]:
        write = self._with_tests if '"tests"' in request else self._sum
        wanted = int(re.search(r"Write (\d+) new", request)[1])
        return {"records": [write(next(self._numbers)) for _ in range(wanted)]}

    def _sum(self, n: int) -> dict[str, Any]:
        return {"instruction": f"What is {n} + {n}?", "output": f"#### {2 * n}"}

    def _with_tests(self, n: int) -> dict[str, Any]:
        return {
            "instruction": f"Write add{n}(x), which returns x + {n}.",
            "output": f"def add{n}(x):\n    return x + {n}",
            "tests": [f"assert add{n}(1) == {n + 1}", f"assert add{n}({n})"],
        }

    def _rewrites(self, request: str) -> dict[str, Any]:
        seed = re.search(r"Instruction: (.*)\n\nOutput: (.*)\n\nReply", request, re.DOTALL)
        return {"records": [{"instruction": f"Please: {seed[1]}", "output": seed[2]}]}

    def _subskills(self, request: str) -> dict[str, Any]:
        wanted = int(re.search(r"Name (\d+) new", request)[1])
        return {"subskills": [f"part {next(self._numbers)}" for _ in range(wanted)]}

    def _self_edits(self, request: str) -> str | dict[str, Any]:
        groups = re.findall(r"use_\w+_augmentations", request)
        if not groups:
            return f"Implications:\\n1. number {next(self._numbers)}"
        training = {"strategy": "train_using_all_tokens", "learning_rate": 1, "num_train_epochs": 1}
        return {"data_generation": dict.fromkeys(groups, True), "training": training}

    def _actions(self, request: str) -> dict[str, Any]:
        return {"action": "explore", "subskills": 1, "records": 2}


def right_answers(task: Task, instance: TaskInstance) -> list[str]:
    """The messages of a student that solves the problem."""
    if isinstance(task.domain, DialogueDomain):
        return [*task.domain.gold_replies(instance)]
    if task.name.endswith("few_shot"):
        return [str(instance.answer)]
    return [str(instance.data.get("solution") or f"#### {instance.answer}")]


def asked_in(conversation: Conversation) -> str:
    """The first message that the student reads."""
    return next(message.content for message in conversation if message.role == "user")


def wrong_answer(task: Task, conversation: Conversation, wrong: str) -> str:
    """The error of every problem, or of this one."""
    if task.name != "pocket_social":
        return WRONG[task.name].replace("wrong", wrong)
    problem = task.domain.problem_of_record(
        SupervisedDatum(instruction=asked_in(conversation), output=wrong)
    )
    is_good = problem is not None and solves(task.domain, problem, "Deal.")
    return f"No, {wrong}." if is_good else "Deal."


def half_a_student(task: Task) -> ScriptedPredictor:
    """Knows about half of the task's problems in the prompts of its evaluation, and nothing else.

    Of the train split it knows the first problem of every skill, and then every other one.
    """
    known = {}
    seen: Counter[str | None] = Counter()
    for instance in task.on("train").instances:
        seen[instance.skill] += 1
        if seen[instance.skill] % 2:
            known[asked_in(task.domain.prompt(instance))] = right_answers(task, instance)
    for instance in task.on("validation").instances:
        if crc32(instance.instruction.encode()) % 2:
            known[asked_in(task.domain.prompt(instance))] = right_answers(task, instance)

    def answer(conversation):
        wrong = f"wrong{crc32(repr(conversation).encode()) % 7}"
        turn = sum(message.role == "assistant" for message in conversation)
        answers = known.get(asked_in(conversation)) or [wrong_answer(task, conversation, wrong)]
        return answers[min(turn, len(answers) - 1)]

    return ScriptedPredictor(answer)


@pytest.fixture
def willing_teacher():
    return WillingTeacher()


@pytest.fixture(scope="session")
def make_half_a_student():
    return half_a_student


@cache
def section(group: str, name: str) -> Any:
    """The configuration of a policy or an engine, as a plain value."""
    agent = "skill_tree" if name.startswith("tree_") else "skill_list"
    config = compose([f"agent={agent}", f"agent/{group}={name}"])
    return OmegaConf.to_container(config.agent[group], resolve=True)


@pytest.fixture
def build_part(willing_teacher):
    """Builds the "policy" or "engine" of that name for a task."""

    def build(group: str, name: str, task: Task) -> Any:
        return build_value(section(group, name), group, {"task": task, "teacher": willing_teacher})

    return build


def names_of(group: str) -> list[str]:
    return sorted(options_by_group()[group].keys() - {"custom"})  # which names a class of one's own


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`engine_name` and `policy_name` are all that the configuration has."""
    for fixture, group in (("engine_name", "agent/engine"), ("policy_name", "agent/policy")):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, names_of(group))
