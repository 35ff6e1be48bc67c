"""Our rewards are those of tau2's own evaluation, where its package and data are installed."""

from __future__ import annotations

import copy
import functools
import importlib.util
import json
import os
from pathlib import Path

import pytest

from dataenvgym.domains.tool_use.tau2.task import Tau2Task
from dataenvgym.domains.tool_use.tau2.world import share_rows
from dataenvgym.records import Message, ToolCall
from dataenvgym.records.tool_formats import as_reply
from tests.domains.tool_use.tau2.conftest import forget_tau2
from tests.domains.tool_use.test_users import Replies


def is_there():
    spec = importlib.util.find_spec("tau2")
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    data = os.environ.get("TAU2_DATA_DIR")
    return bool(data) and any((folder / "registry.py").is_file() for folder in folders)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_there(), reason="needs Sierra's tau2 and TAU2_DATA_DIR"),
]

# Tasks whose gold calls do not earn the reward, nor in tau2: the reason; a call that, after them,
# fulfills the assertion; the reward with that call.
UNEARNED = {
    "update_task_with_history_and_env_assertions": (
        "it has no gold calls, and its assertion wants task_2 completed",
        {"name": "update_task_status", "arguments": {"task_id": "task_2", "status": "completed"}},
        1.0,
    ),
    "update_task_with_user_tools": (
        "its assertion wants a notification read, and DB compares with the gold calls' end: unread",
        {
            "name": "dismiss_notification",
            "arguments": {"notification_id": "notif_1"},
            "requestor": "user",
        },
        0.0,
    ),
}

# Tasks that doing nothing solves, in tau2 too, although their gold calls include writing ones.
SOLVED_BY_NOTHING = {"105": "its one writing gold call fails: the gift card has too little money"}


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


def our_reward(task, instance, actions, words):
    """The reward of these calls and words, with a judge that always agrees."""
    student, user = replies(actions)
    numbers = range(1, 1 + len(instance.data.get("judged", [])))
    holds = {"statements": [{"number": n, "reason": "", "holds": True} for n in numbers]}
    fault = {"at_fault": "assistant", "reason": ""}
    judge = [json.dumps(each) for each in ([holds] if numbers else []) + [fault]]
    environment = task.make_environment()
    environment.others = {"user": Replies(*user), "judge": Replies(*judge)}
    environment.reset(seed=0, options={"instance": instance})
    for text in student:
        environment.step(text)
    _, reward, done, *_ = environment.step(words)
    assert done, instance.id
    return reward


def tau2s_reward(domain, theirs, actions, words):
    """tau2's, without assertions in natural language; 0 if its evaluation raises."""
    from tau2.data_model import message as say
    from tau2.data_model.simulation import SimulationRun
    from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
    from tau2.registry import registry

    begin = theirs.initial_state
    messages = list((begin and begin.message_history) or [])
    environment = registry.get_env_constructor(domain)()
    environment.set_state(
        begin and begin.initialization_data, begin and begin.initialization_actions, messages
    )
    speakers = {"assistant": say.AssistantMessage, "user": say.UserMessage}
    for number, action in enumerate(actions):
        seat = action.get("requestor", "assistant")
        call = say.ToolCall(
            id=str(number),
            name=action["name"],
            arguments=action.get("arguments", {}),
            requestor=seat,
        )
        messages += [speakers[seat](role=seat, tool_calls=[call]), environment.get_response(call)]
    run = SimulationRun(
        id="",
        task_id=theirs.id,
        start_time="",
        end_time="",
        duration=0,
        termination_reason="user_stop",
        messages=[*messages, say.AssistantMessage(role="assistant", content=words)],
    )
    try:
        return evaluate_simulation(run, theirs, EvaluationType.ALL, False, domain).reward
    except ValueError:  # an assertion about a row that was not made
        return 0.0


def plays(instance):
    """Calls and words: the gold ones, none, all but one call, and calls without the information."""
    gold = instance.data.get("actions", [])
    words = "It is done: " + " ".join(instance.data.get("said", []))
    yield gold, words
    yield [], "No."
    yield from ((gold[:n] + gold[n + 1 :], words) for n in range(len(gold)))
    yield gold, "It is done."
    if instance.id in UNEARNED:
        yield [*gold, UNEARNED[instance.id][1]], words


def load_each_database_once(monkeypatch):
    """tau2 reads its files four times for each score, which takes two seconds in airline."""
    from tau2.environment.db import DB

    @functools.cache
    def shared(cls, path, load=DB.load.__func__):
        database = load(cls, path)
        share_rows(database)
        return database

    monkeypatch.setattr(DB, "load", classmethod(lambda cls, path: copy.deepcopy(shared(cls, path))))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("domain", ["mock", "airline", "retail", "telecom"])
def test_the_rewards_of_real_tasks_are_tau2s_and_their_gold_calls_earn_it(domain, monkeypatch):
    forget_tau2()
    load_each_database_once(monkeypatch)
    task = Tau2Task(domain, others={"judge": Replies()}).whole()
    from tau2.registry import registry

    their_tasks = {theirs.id: theirs for theirs in registry.get_tasks_loader(domain)()}
    for instance in task.instances:
        theirs = their_tasks[instance.id]
        criteria = theirs.evaluation_criteria
        criteria.reward_basis = [b for b in criteria.reward_basis if b.value != "NL_ASSERTION"]
        rewards = []
        for play in plays(instance):
            rewards.append(our_reward(task, instance, *play))
            assert rewards[-1] == tau2s_reward(domain, theirs, *play), (instance.id, play)
        gold, idle, *_, last = rewards
        if instance.id in UNEARNED:
            assert (gold, last) == (0.0, UNEARNED[instance.id][2]), instance.id
        else:
            assert gold == 1.0, instance.id
        may_be_idle = instance.skill == "changes nothing" or instance.id in SOLVED_BY_NOTHING
        assert idle == 0.0 or may_be_idle, instance.id
