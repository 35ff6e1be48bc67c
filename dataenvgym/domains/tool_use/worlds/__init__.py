"""The worlds in the package, by name.

Next to shop.py are shop.json, the first state of the world, and shop.jsonl, its problems;
`python -m tools.worlds` writes the problems.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.tasks.worlds.state import RowT, State, Table
from dataenvgym.tasks.worlds.world import ToolError, World

WORLDS = {
    "calendar": "dataenvgym.domains.tool_use.worlds.calendar.Calendar",
    "wallet": "dataenvgym.domains.tool_use.worlds.wallet.Wallet",
    "shop": "dataenvgym.domains.tool_use.worlds.shop.Shop",
}
"""Name -> class; add your own."""

StateT = TypeVar("StateT", bound=State)
_HERE = Path(__file__).parent


def find_world(name: str) -> World[Any]:
    """The world of that name, of the class `my_module.MyWorld`, or of a folder (see `folder`).

    Raises:
        ConfigurationError: if it does not exist, or cannot be made.
    """
    if name not in WORLDS and Path(name).is_dir():
        from dataenvgym.domains.tool_use.worlds.folder import read_world

        return read_world(name)
    from dataenvgym.runs.config.instantiation import imported

    if "." not in (place := WORLDS.get(name, name)):
        raise ConfigurationError(
            f"there is no world {name!r}.{did_you_mean(name, WORLDS)} There are: "
            f"{', '.join(WORLDS)}; name your own as my_module.MyWorld, or a folder"
        )
    kind: Any = imported(place, "world")
    if not (isinstance(kind, type) and issubclass(kind, World)):
        raise ConfigurationError(f"{place} is {kind!r}, expected a subclass of World")
    return kind()


def problems_of(name: str) -> Path:
    """The file with the problems of a world in the package, or of a folder.

    Raises:
        ConfigurationError: if it does not have one.
    """
    is_folder = name not in WORLDS and Path(name).is_dir()
    path = Path(name) / "problems.jsonl" if is_folder else _HERE / f"{name}.jsonl"
    if not path.exists():
        raise ConfigurationError(
            f"world {name!r} comes without problems: name a file of problems "
            "(task.sources=problems.jsonl; for an audit, --tasks problems.jsonl)"
        )
    return path


def require(holds: object, otherwise: str) -> None:
    """Refuse a call with that message unless something holds."""
    if not holds:
        raise ToolError(otherwise)


def row_of(table: Table[RowT], key: str, kind: str) -> RowT:
    """The row with that id; a tool refuses an unknown one."""
    require(key in table, f"there is no {kind} {key}")
    return table[key]


def first_state(kind: type[StateT], name: str) -> StateT:
    """The first state of a world in the package."""
    return kind.model_validate_json((_HERE / f"{name}.json").read_bytes())


def note_refusal(state: Any, rule: int, rules: int, about: str | None) -> str:
    """Note in a state that one of the rules forbids a request about a thing, once."""
    require(1 <= rule <= rules, f"there is no rule {rule}")
    note = f"rule {rule}: {about}"
    require(note not in state.refused, "that is noted already")
    state.refused += (note,)
    return f"{note} is noted"
