"""Actions on a forest of skills: explore or exploit, at most one for each skill.

`Explore` opens new subskills of a skill; `Exploit` gives open ones more or fewer records. Skills
that the action does not name keep their allocation, so an empty action repeats the step before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, TypeAdapter, ValidationError

from dataenvgym.environments.skill_tree.forest import Forest
from dataenvgym.errors import InvalidActionError, did_you_mean
from dataenvgym.records import Model


class Explore(Model):
    """Open up to `subskills` new subskills of `skill`, with `records_each` records a step each."""

    kind: Literal["explore"] = "explore"
    skill: str
    subskills: StrictInt = Field(ge=1)
    records_each: StrictInt = Field(ge=0)


class Exploit(Model):
    """Change the allocation of open subskills of `skill`, by name; it never falls below 0."""

    kind: Literal["exploit"] = "exploit"
    skill: str
    changes: dict[str, StrictInt]


Move = Annotated[Explore | Exploit, Field(discriminator="kind")]
TreeAction = tuple[Explore | Exploit, ...]

_MOVE: TypeAdapter[Explore | Exploit] = TypeAdapter(Move)


def parse_tree_action(value: Any, forest: Forest) -> TreeAction:
    """Parse an action on `forest`.

    Args:
        value: a sequence of `Explore` and `Exploit`, or of mappings with the same fields,
            including `kind`.

    Raises:
        InvalidActionError: for another type, a malformed move, an unknown skill or subskill, or
            two moves for one skill.
    """
    if isinstance(value, str | bytes | Mapping | Model) or not isinstance(value, Iterable):
        raise InvalidActionError(
            f"the action is {type(value).__name__}, expected a list of Explore and Exploit "
            "(at most one for each skill)"
        )
    action = tuple(_parsed(move, i) for i, move in enumerate(value))
    named: set[str] = set()
    for i, move in enumerate(action):
        if move.skill in named:
            raise InvalidActionError(
                f"move {i}: a second one for skill {move.skill!r}, expected at most one for each"
            )
        named.add(move.skill)
        _refuse_unknown(move, i, forest)
    return action


def _parsed(value: Any, index: int) -> Explore | Exploit:
    try:
        return _MOVE.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"][1:]) or "(whole move)"
        raise InvalidActionError(
            f"move {index}, field {field}: {first['msg']}; found {first['input']!r}"
        ) from None


def _refuse_unknown(move: Explore | Exploit, index: int, forest: Forest) -> None:
    if move.skill not in forest.skills:
        raise InvalidActionError(
            f"move {index}: the forest has no skill {move.skill!r}."
            f"{did_you_mean(move.skill, forest.skills)} It has: {', '.join(forest.skills)}."
        )
    if isinstance(move, Exploit):
        names = [subskill.name for subskill in forest.tree(move.skill).subskills]
        for name in move.changes:
            if name not in names:
                has = f"It has: {', '.join(names)}." if names else "It has none yet: explore it."
                raise InvalidActionError(
                    f"move {index}: skill {move.skill!r} has no subskill {name!r}."
                    f"{did_you_mean(name, names)} {has}"
                )
