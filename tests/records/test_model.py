"""Dictionaries and lists in records and problems are frozen, and otherwise ordinary."""

import copy
import json
import pickle

import orjson
import pytest

from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Message,
    PerformanceReport,
    SkillReport,
    TaskInstance,
    Tool,
    ToolCall,
)

DATA = {"gold": [1, [2, {"x": 3}]], "none": None, "world": {"rooms": ["a", "b"]}}


def problem(**fields):
    return TaskInstance(**{"id": "1", "task": "t", "instruction": "?", "data": DATA, **fields})


def containers(value):
    """All dictionaries and lists that can be reached from a value through public attributes."""
    if isinstance(value, dict | list):
        yield value
    inner = value.values() if isinstance(value, dict) else value
    if hasattr(type(value), "model_fields"):
        inner = [getattr(value, name) for name in type(value).model_fields]
    elif not isinstance(value, dict | list | tuple):
        return
    for each in inner:
        yield from containers(each)


CHANGING = (  # the methods that change a list, and a dictionary
    "append extend insert __iadd__ __imul__ __setitem__ __delitem__ pop remove sort reverse clear",
    "update setdefault __setitem__ __ior__ pop popitem __delitem__ clear",
)


def assert_frozen(shown):
    before = repr(shown)
    for value in containers(shown):
        for name in CHANGING[isinstance(value, dict)].split():
            with pytest.raises(TypeError, match="cannot be changed"):
                getattr(value, name)()
    assert repr(shown) == before


def test_nothing_in_a_record_or_problem_can_be_changed_in_place():
    call = ToolCall(name="f", arguments={"x": [1]})
    tool = Tool(name="f", parameters={"properties": {"x": {"enum": [1, 2]}}})
    turns = (
        Message(role="user", content="?", tools=(tool,)),
        Message(role="assistant", content="", tool_calls=(call,)),
    )
    scores = {"score": 1.0, "accuracy": 1.0, "n": 1, "n_errors": 0}
    of_skill = SkillReport(skill="s", category=None, scores={"f1": 0.5}, **scores)
    for shown in (
        problem(),
        problem(data={}),
        TaskInstance(id="1", task="t", instruction="?"),
        problem().model_copy(update={"data": {"choices": ["a"]}}),
        problem().model_copy(update={"skill": "s"}),
        CompletedTaskInstance(
            instance=problem(), transcript=turns, reward=1, was_correct=True, scores={"f1": 1}
        ),
        CompletedTaskInstance(instance=problem(), transcript=(), reward=0, was_correct=False),
        PerformanceReport(task="t", skills=(of_skill,), faults={"user": 1}, **scores),
        PerformanceReport(task="t", **scores),
        ChatDatum(messages=[turns[0].model_copy(update={"tools": ()}), turns[1]], tools=(tool,)),
        TaskInstance.model_validate_json(problem().model_dump_json()),
    ):
        assert_frozen(shown)


def test_frozen_data_are_read_written_and_copied_like_plain_ones():
    one = problem()
    assert one.data == DATA
    assert json.loads(json.dumps(one.data)) == orjson.loads(orjson.dumps(one.data)) == DATA
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    own = copy.deepcopy(one.data)
    own["world"]["rooms"].append("c")
    assert {**one.data, "more": 1} == {**DATA, "more": 1}
    assert one.data["gold"] + [4] == [*DATA["gold"], 4]
    assert one.data == DATA != own
