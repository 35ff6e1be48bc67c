"""The real package and data, where they are installed."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from dataenvgym.records import Message, ToolCall
from dataenvgym.tasks.tool_use.tau2.task import Tau2Task
from dataenvgym.tool_formats import as_reply

from ..test_users import Replies
from .conftest import forget_tau2


def is_there():
    spec = importlib.util.find_spec("tau2")
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    data = os.environ.get("TAU2_DATA_DIR")
    return bool(data) and any((folder / "registry.py").is_file() for folder in folders)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_there(), reason="needs Sierra's tau2 and TAU2_DATA_DIR"),
]


def replies(actions):
    """The student's texts and the user's, in the order in which both make the calls."""
    student, user = [], ["Hello."]
    for action in actions:
        call = ToolCall(name=action["name"], arguments=action.get("arguments", {}))
        if action.get("requestor") == "user":
            student.append("Please.")
            text = json.dumps({"name": call.name, "arguments": call.arguments})
            user += [f"<tool_call>\n{text}\n</tool_call>", f"Done, step {len(student)}."]
        else:
            student.append(as_reply(Message(role="assistant", content="", tool_calls=(call,))))
    return student, [*user, "###STOP###"]


@pytest.mark.parametrize("domain", ["mock", "airline", "retail", "telecom"])
def test_the_gold_calls_of_real_tasks_earn_the_reward_and_no_calls_do_not(domain):
    forget_tau2()
    task = Tau2Task(domain, nl_assertions="leave_out", limit=5).whole()
    for instance in task.instances:
        writes = instance.skill != "changes nothing"
        for actions in (instance.data.get("actions", []), []):
            student, user = replies(actions)
            environment = task.make_environment()
            environment.others = {"user": Replies(*user)}
            environment.reset(seed=0, options={"instance": instance})
            for text in student:
                environment.step(text)
            words = "It is done: " + " ".join(instance.data.get("said", []))
            reward = environment.step(words if actions else "No.")[1]
            if actions:
                assert reward == 1.0, instance.id
            elif writes:
                assert reward == 0.0, instance.id
