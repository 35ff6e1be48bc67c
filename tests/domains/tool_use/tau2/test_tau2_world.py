"""An environment of tau2 as a world."""

from __future__ import annotations

import copy

import pytest

from dataenvgym.domains.tool_use.tau2.package import Tau2Package
from dataenvgym.domains.tool_use.tau2.world import SharedRows, Tau2World
from dataenvgym.records import ToolCall

ALLOW = ToolCall(name="allow_roaming", arguments={"line": "L1"})


@pytest.fixture
def world(data):
    return Tau2World("telecom", Tau2Package("telecom").environment)


def lines(state):
    return state.environment.tools.db.model_dump()["lines"]


def test_each_seat_has_its_tools_with_tau2s_schemas(world):
    assert [tool.name for tool in world.tools()] == ["allow_roaming", "get_line"]
    assert [tool.name for tool in world.tools("user")] == ["look", "toggle_data"]
    assert world.tools()[0].parameters["required"] == ["line"]
    assert world.policy == "Help customers with their lines.\n"


def test_a_call_is_answered_as_tau2_does_and_the_stores_are_synced(world):
    look = ToolCall(name="look")
    assert world.call(look, "user").content == '{"signal": false}'
    assert world.call(ALLOW).content == "Roaming is allowed"
    assert world.call(look, "user").content == '{"signal": true}'


@pytest.mark.parametrize(
    ("name", "arguments", "by", "content"),
    [
        ("nosuch", {}, "assistant", "Error: Tool 'nosuch' not found."),
        ("allow_roaming", {"line": "L1"}, "user", "Error: Tool 'allow_roaming' not found."),
        ("get_line", {"line": "L9"}, "assistant", "Error: Line L9 not fou"),
        ("get_line", {"lime": "L1"}, "assistant", "Error: "),
        ("get_line", {"tool_name": "x", "requestor": "user"}, "assistant", "Error: "),
        ("allow_roaming", {"line": "L2"}, "assistant", "Error: This line "),
    ],
)
def test_a_call_that_fails_is_tau2s_error_and_changes_nothing(world, name, arguments, by, content):
    before = world.state.hashes
    result = world.call(ToolCall(name=name, arguments=arguments), by)
    assert result.content.startswith(content)
    assert result.error is not None
    assert world.state.hashes == before


def test_states_are_equal_if_both_databases_are(world):
    other = world.at(world.state.fork())
    assert world.state == other.state
    assert world.state.digest() == other.state.digest()
    other.call(ToolCall(name="toggle_data"), "user")
    assert world.state != other.state
    other.call(ToolCall(name="toggle_data"), "user")
    assert world.state == other.state


def test_a_fork_has_changes_of_its_own_and_shares_the_other_rows(world):
    fork = world.at(world.state.fork())
    kept = fork.state
    fork.call(ALLOW)
    assert not lines(kept)["L1"]["roams"]
    begun = {"owner": "Ann", "roams": False, "notes": []}
    assert lines(fork.state)["L1"] == begun | {"roams": True, "notes": ["asked for roaming"]}
    assert lines(world.state)["L1"] == begun
    mine, theirs = (w.state.environment.tools.db.__dict__["lines"] for w in (fork, world))
    assert dict.__getitem__(mine, "L3") is dict.__getitem__(theirs, "L3")


def test_a_task_defines_its_initial_state(world):
    changes = {
        "initial_state": {
            "initialization_data": {"user_data": {"data_on": True}},
            "initialization_actions": [
                {"env_type": "assistant", "func_name": "allow_roaming", "arguments": {"line": "L3"}}
            ],
        },
        "user_tools": ["look"],
    }
    begun = world.at(world.state.patched(changes))
    assert lines(begun.state)["L3"]["roams"]
    assert begun.state.environment.user_tools.db.data_on
    assert [tool.name for tool in begun.tools("user")] == ["look"]
    assert not lines(world.state)["L3"]["roams"]


def test_checks_are_methods_of_either_seat_and_change_nothing(world):
    assert world.holds("user.assert_data", {"expected": False})
    world.call(ToolCall(name="toggle_data"), "user")
    assert not world.holds("user.assert_data", {"expected": False})
    assert "assistant.assert_roams" in world.checks


@pytest.mark.parametrize(
    "read",
    [
        lambda rows: rows["a"],
        lambda rows: rows.get("a"),
        lambda rows: next(iter(rows.values())),
        lambda rows: rows.setdefault("a", []),
        lambda rows: rows.copy()["a"],
        lambda rows: dict(rows)["a"],
        lambda rows: (rows | {})["a"],
        lambda rows: rows.pop("a"),
        lambda rows: rows.popitem()[1],
    ],
)
def test_no_way_to_read_a_shared_row_lets_a_change_through(read):
    rows = SharedRows({"a": []})
    twin = copy.deepcopy(rows)
    read(twin).append(1)
    assert dict(rows) == {"a": []}
    read(rows).append(2)
    assert copy.deepcopy(twin).get("a", [1]) == [1]
    assert twin.get("no", 3) == 3


def test_rows_that_are_not_there_are_missing_as_in_a_dict():
    rows = SharedRows()
    assert rows.pop("no", 3) == 3
    assert rows.setdefault("new", 4) == 4
    assert rows.pop("new") == 4
    for read in (lambda: rows.pop("no"), rows.popitem, lambda: rows["no"]):
        with pytest.raises(KeyError):
            read()
