"""A small world that the tests of tool use share."""

import pytest

from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, check, tool


class Lamp(Row):
    room: str
    is_on: bool = False


class House(State):
    lamps: Table[Lamp] = Table()
    log: list[str] = []


class Lamps(World[House]):
    """Lamps in rooms."""

    name = "lamps"
    policy = "Switch what you are asked to."
    time_limit = 0.1

    def initial(self):
        return House(lamps={f"lamp_{n}": {"room": room} for n, room in enumerate("abc")})

    @tool
    def look(self, lamp: str) -> Lamp:
        """Look at a lamp."""
        return self._lamp(lamp)

    @tool(writes=True)
    def switch(self, lamp: str, on: bool) -> str:
        """Switch a lamp.

        Args:
            lamp: its id.
            on: whether it is on afterwards.
        """
        self.state.log.append(lamp)
        self.state.lamps[lamp] = self._lamp(lamp).changed(is_on=on)
        return "done"

    @tool(writes=True)
    def misbehave(self, how: str) -> object:
        """Change the state, then fail."""
        self.state.log.append(how)
        del self.state.lamps["lamp_0"]
        return HOWS[how]()

    @tool
    def peek(self, how: str) -> str:
        """Say that it reads, and write."""
        if how == "field":
            self.state.log = ["peeked"]
        elif how == "list":
            self.state.log.append("peeked")
        elif how == "row":
            del self.state.lamps["lamp_0"]
        return "nothing happened"

    @tool(by="user")
    def listen(self) -> str:
        """The user's view of the conversation."""
        return "a click"

    @check
    def is_on(self, lamp: str) -> bool:
        return self._lamp(lamp).is_on

    @check
    def odd(self) -> str:
        return "yes"

    @check
    def broken(self) -> bool:
        raise RuntimeError("broken")

    def _lamp(self, lamp):
        if lamp not in self.state.lamps:
            raise ToolError(f"there is no lamp {lamp}")
        return self.state.lamps[lamp]


def _refuse():
    raise ToolError("not today")


def _loop():
    while True:
        pass


def _recurse():
    return _recurse()


def _circle():
    circle = []
    circle.append(circle)
    return circle


HOWS = {
    "refuse": _refuse,
    "raise": lambda: {}["nothing"],
    "exit": lambda: exit(3),
    "loop": _loop,
    "recurse": _recurse,
    "circle": _circle,
    "surrogate": lambda: "\ud800",
}


@pytest.fixture
def lamps():
    return Lamps()
