"""Calls of a world's tools: their changes, and failed calls."""

import pytest

from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.records import ToolCall
from dataenvgym.tasks.worlds import State, ToolError, World, tool


def call(world, name, by="assistant", **arguments):
    return world.call(ToolCall(name=name, arguments=arguments), by)


def test_a_call_changes_the_state_and_answers(lamps):
    before, digest = lamps.state, lamps.state.digest()
    assert call(lamps, "switch", lamp="lamp_1", on=True).content == "done"
    assert lamps.state.lamps["lamp_1"].is_on
    assert call(lamps, "look", lamp="lamp_1").content == '{"room":"b","is_on":true}'
    assert lamps.state is not before
    assert before.digest() == digest


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("swich", {}, "there is no tool 'swich'; the tools are: look, switch"),
        ("switch", {"lamp": "lamp_1"}, "switch: argument 'on' is missing"),
        ("switch", {"lamp": "x" * 100_000, "on": True}, "there is no lamp xxx"),
        ("switch", {"lamp": "x" * 1_000_000, "on": True}, "at most 200,000"),
        ("misbehave", {"how": "refuse"}, "not today"),
        ("listen", {}, "there is no tool 'listen'"),
    ],
)
def test_a_failing_call_gets_a_short_message_and_changes_nothing(lamps, name, arguments, error):
    before = lamps.state.digest()
    result = call(lamps, name, **arguments)
    assert error in result.error
    assert result.content == f"Error: {result.error}"
    assert len(result.content) < 600
    assert lamps.state.digest() == before


def test_a_huge_result_is_cut_and_the_student_is_told():
    class Verbose(World[State]):
        name = "verbose"

        def initial(self):
            return State()

        @tool
        def read(self, n: int) -> str:
            """Read much."""
            return "x" * n

    short, long = (call(Verbose(), "read", n=n).content for n in (100_000, 5_000_000))
    assert short == "x" * 100_000
    assert long.startswith(short)
    assert long[100_000:] == ("\n[cut: these are 100,000 of 5,000,000 characters; ask for less]")


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("raise", "KeyError"),
        ("exit", "SystemExit: 3"),
        ("loop", "TimeoutError: took longer than 0.1 s"),
        ("recurse", "RecursionError"),
        ("circle", "Circular reference"),
        ("surrogate", "UnicodeEncodeError"),
    ],
)
def test_a_fault_of_a_tool_is_the_worlds_and_changes_nothing(lamps, how, kind):
    before = lamps.state.digest()
    with pytest.raises(EvaluationError, match="of world") as fault:
        call(lamps, "misbehave", how=how)
    assert kind in str(fault.value)
    assert len(str(fault.value)) < 250
    assert lamps.state.digest() == before
    assert call(lamps, "switch", lamp="lamp_0", on=True).error is None


@pytest.mark.parametrize("how", ["field", "list", "row"])
def test_a_tool_that_says_it_reads_and_writes_is_a_fault(lamps, how):
    before = lamps.state.digest()
    with pytest.raises(EvaluationError, match="mark"):
        call(lamps, "peek", how=how)
    assert lamps.state.digest() == before
    assert call(lamps, "peek", how="not at all").error is None


def test_each_seat_has_its_tools(lamps):
    assert [t.name for t in lamps.tools()] == ["look", "switch", "misbehave", "peek"]
    assert [t.name for t in lamps.tools("user")] == ["listen"]
    assert call(lamps, "listen", by="user").content == "a click"
    assert "there is no tool" in call(lamps, "switch", by="user", lamp="lamp_1", on=True).error


def test_a_subclass_has_the_tools_of_its_base_and_its_own(lamps):
    class More(type(lamps)):
        @tool
        def count(self) -> int:
            """How many lamps there are."""
            return len(self.state.lamps)

        @tool(writes=True)
        def toggle(self) -> None:
            """Switch the first lamp."""
            self.state.lamps["lamp_0"].is_on = True

        @tool(writes=True)
        def burn_down(self) -> None:
            """Leave nothing."""
            self.state = None

        def look(self):  # not marked: no longer a tool
            return None

    more = More()
    before = more.state
    names = [t.name for t in more.tools()]
    assert names == ["switch", "misbehave", "peek", "count", "toggle", "burn_down"]
    assert call(more, "count").content == "3"
    for fault, said in (("toggle", "write table"), ("burn_down", "as the state")):
        with pytest.raises(EvaluationError, match=said):
            call(more, fault)
    assert more.state is before


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("odd", {}, "returned 'yes', expected True or False"),
        ("broken", {}, "raised RuntimeError: broken"),
        ("is_on", {}, "raised TypeError"),
    ],
)
def test_a_check_that_fails_is_a_fault_of_the_world(lamps, name, arguments, complaint):
    with pytest.raises(EvaluationError, match=complaint):
        lamps.holds(name, arguments)
    with pytest.raises(ConfigurationError, match="mean 'is_on'"):
        lamps.holds("is_onn", {})


class Simulator:
    """A lift that knows nothing of pydantic; copies of it are its states."""

    def __init__(self, floor=0):
        self.floor = floor

    def fork(self):
        return Simulator(self.floor)

    def digest(self):
        return str(self.floor)

    def __eq__(self, other):
        return self.floor == other.floor


class Lift(World[Simulator]):
    name = "lift"

    def initial(self):
        return Simulator()

    @tool(writes=True)
    def go(self, floors: int) -> int:
        """Move by some floors."""
        self.state.floor += floors
        if self.state.floor < 0:
            raise ToolError("there is no cellar")
        return self.state.floor

    @tool
    def peek(self) -> int:
        """Say that it reads, and move."""
        self.state.floor += 1
        return self.state.floor


def test_a_live_simulator_is_a_world_too():
    lift = Lift()
    before = lift.state
    assert call(lift, "go", floors=2).content == "2"
    assert call(lift, "go", floors=-3).error == "there is no cellar"
    assert (lift.state.floor, before.floor) == (2, 0)
    with pytest.raises(EvaluationError, match="it changed the state"):
        call(lift, "peek")
