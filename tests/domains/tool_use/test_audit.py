"""The audit finds worlds and problems that prove nothing."""

import random
from datetime import datetime
from typing import Literal

import pytest

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.errors import ConfigurationError, UnparsableAnswerError
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, check, tool
from dataenvgym.tasks.worlds.audit.legal_values import LegalValues

pytestmark = pytest.mark.usefixtures("one_process")


class Seat(Row):
    guest: str | None = None
    meal: str = "none"


class Plane(State):
    seats: Table[Seat] = Table()
    log: tuple[str, ...] = ()
    n_looks: int = 0


class Booking(World[Plane]):
    name = "booking"

    def initial(self):
        guests = {3: "Ann", 7: "Bob"}
        return Plane(seats={f"seat_{n}": {"guest": guests.get(n)} for n in range(30)})

    @tool
    def look(self, seat_id: str) -> Seat:
        """Look at a seat."""
        return self._seat(seat_id)

    @tool(writes=True)
    def book(self, seat_id: str, guest: str, meal: Literal["none", "fish", "rice"] = "none") -> str:
        """Book a seat."""
        if self._seat(seat_id).guest:
            raise ToolError(f"{seat_id} is taken")
        self.state.seats[seat_id] = Seat(guest=guest, meal=meal)
        return "booked"

    @check
    def sits(self, seat_id: str, guest: str) -> bool:
        return self._seat(seat_id).guest == guest

    def _seat(self, seat_id):
        if seat_id not in self.state.seats:
            raise ToolError(f"there is no {seat_id}")
        return self.state.seats[seat_id]


BOOK = {"name": "book", "arguments": {"seat_id": "seat_1", "guest": "Cleo"}}
LOOK = {"name": "look", "arguments": {"seat_id": "seat_3"}}


def problem(id="p", **data):
    return TaskInstance(id=id, task="t", instruction="Book!", data={"world": "booking", **data})


def violations(world, *problems):
    return {(v.check, v.problem): v.detail for v in audit(world, problems).violations}


GOOD = [
    problem("book", gold=[BOOK]),
    problem("who", gold=[LOOK], basis=["state", "said"], said=["Ann"], not_said=["Bob"]),
    problem("look first", gold=[LOOK, BOOK], basis=["state", "calls"]),
    problem(
        "no matter which meal",
        gold=[{"name": "book", "arguments": {"seat_id": "seat_2", "guest": "Dan"}}],
        basis=["assertions"],
        assertions=[{"check": "sits", "arguments": {"seat_id": "seat_2", "guest": "Dan"}}],
        may_differ=["seats.seat_2"],
    ),
]


def test_good_problems_are_proven():
    done = audit(Booking(), GOOD[:3])
    assert done.violations == []
    assert done.tried["problems"] == 3
    assert done.tried["random calls"] == 150
    assert done.tried["changed arguments"] >= 20
    assert done.tried["changed arguments that a tool refused"] > 0
    assert done.tried["extra writes"] == 6
    assert done.tried["extreme calls"] == 60
    assert done.tried["constant replies"] == 2  # to "who": a list of everything, the request
    assert done.tried["mutations"] == 4  # state, said and calls dropped, words forgotten


def test_an_argument_or_a_write_that_the_verifier_does_not_look_at_is_found():
    found = violations(Booking(), GOOD[3])
    seen = "book with meal='rice': the reward is 1, expected 0"
    assert found == violations(Booking(), GOOD[3]) == {("argument", "no matter which meal"): seen}
    found = violations(Booking(), problem("harm", **{**GOOD[3].data, "may_differ": None}))
    assert found["extra write", "harm"].startswith("the gold calls, then book(seat_id=")


@pytest.mark.parametrize(
    ("said", "not_said", "bait"),
    [
        (["Ann"], [], "a list of everything"),
        (["Ann"], ["Bob"], None),
        (["book"], ["Ann"], "the policy and the request"),
        (["seat 3"], ["Ann"], "the reply to other"),
    ],
)
def test_a_reply_that_is_no_answer_must_not_earn_the_reward(said, not_said, bait):
    words = {"basis": ["state", "said"], "gold": [LOOK], "not_said": not_said}
    other = problem("other", **{**words, "said": ["row 1, seat 3"], "not_said": ["Ann"]})
    found = violations(Booking(), problem("bait", said=said, **words), other)
    replies = {key[1]: detail for key, detail in found.items() if key[0] == "constant reply"}
    assert replies.get("bait") == (bait and f"{bait}: the reward is 1, expected 0")
    assert "other" not in replies


class Switch(World[Plane]):
    """Random calls reach what is asked for: two states only."""

    name = "switch"

    def initial(self):
        return Plane()

    @tool(writes=True)
    def switch(self, on: bool) -> str:
        """Switch."""
        self.state.n_looks = int(on)
        return "done"


def test_problems_that_random_calls_solve_are_found():
    on = {"name": "switch", "arguments": {"on": True}}
    twenty = [problem(f"p{n}", world="switch", gold=[on]) for n in range(20)]
    assert {check for check, _ in violations(Switch(), *twenty)} == {"random calls"}


def test_two_replays_that_differ_are_found():
    class Impure(Booking):
        @tool(writes=True)
        def now(self) -> str:
            """Asks the clock."""
            self.state.log = (*self.state.log, str(datetime.now()))
            return "done"

    found = violations(Impure(), problem("twice", gold=[{"name": "now", "arguments": {}}]))
    assert found["same twice", "twice"] == "the gold calls have other results or another state"


def test_a_task_refuses_problems_that_fail_if_it_is_asked_to_audit_them(tmp_path):
    path = tmp_path / "problems.jsonl"
    path.write_bytes(
        b'{"id": "idle", "instruction": "Look.", "gold": '
        b'[{"name": "look", "arguments": {"seat_id": "seat_3"}}]}\n'
    )
    assert len(ToolUseTask(Booking(), {"validation": path}).instances) == 1
    with pytest.raises(UnparsableAnswerError, match="idle"):
        _ = ToolUseTask(Booking(), {"validation": path}, audit=True).instances


def test_a_world_that_does_not_show_its_state_is_refused():
    class Hidden(Booking):
        shows_state = False

    with pytest.raises(ConfigurationError, match="does not show its state"):
        audit(Hidden(), GOOD)


def test_values_of_every_kind_are_legal():
    class Kinds(Booking):
        name = "kinds"

        @tool(writes=True)
        def take(
            self, n: int, share: float | None, day: datetime, seats: list[Seat], sure: bool = True
        ) -> str:
            """Take all kinds of values."""
            return "taken"

    world = Kinds()
    (take,) = [tool for tool in world.tools() if tool.name == "take"]
    values, rng = LegalValues(world.state), random.Random(0)
    calls = [values.draw(take, rng) for _ in range(50)]
    assert all(world.call(call).error is None for call in calls)
    changed = {name for name, _ in values.changes(take, calls[0])}
    assert changed == {"n", "share", "day", "seats", "sure"}
