"""Candidates for the problems of a synthesized world: which are sound, and harder variants.

Each candidate is read, then compared with its request (`unstated`), then audited with all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations, islice, zip_longest
from typing import Any

from pydantic import ValidationError

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.problem import to_instance
from dataenvgym.domains.tool_use.worlds.folder import Entry, FolderWorld, WorldSpec, plain
from dataenvgym.errors import DataEnvGymError, EvaluationError, InvalidInstanceError
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.rows import SourceRow
from dataenvgym.tasks.worlds.audit import Violation
from dataenvgym.tasks.worlds.world import World

Row = dict[str, Any]
OTHER_FOLDER = "name a new folder, with another --seed or another teacher"


def judge_candidates(
    world: World[Any], rows: Iterable[Row], *, seed: int = 0
) -> tuple[list[Row], list[Violation]]:
    """Separate sound problems from broken ones.

    Reasons besides the checks of the audit: `form` (it cannot be read), `repeated` (the id or the
    request of another one), `unstated` (the request does not say what the gold calls need).

    Raises:
        EvaluationError: if the world itself fails the audit; all findings are in one message.
    """
    rejected: list[Violation] = []
    kept: dict[str, tuple[Row, TaskInstance]] = {}
    requests: set[str] = set()
    for number, row in enumerate(rows):
        id = str(row.get("id", number))
        try:
            source = SourceRow(id=id, where=f"candidate {number + 1}", values=row)
            instance = to_instance(source, task=world.name, world=world.name)
        except (InvalidInstanceError, ValidationError) as error:
            rejected.append(Violation("form", id, str(error)))
            continue
        request = " ".join(instance.instruction.casefold().split())
        if id in kept or request in requests:
            rejected.append(Violation("repeated", id, "another task has its id or its request"))
        elif violation := unstated(world, instance):
            rejected.append(violation)
        else:
            kept[id] = row, instance
            requests.add(request)
    while kept:
        done = audit(world, [instance for _, instance in kept.values()], seed=seed)
        found = [each for each in done.violations if each.problem in kept]
        if not found and done.violations:
            faults = "; ".join(map(str, done.violations))
            raise EvaluationError(f"world {world.name!r} is unsound: {faults}: {OTHER_FOLDER}")
        if not found:
            break
        for each in found:
            if kept.pop(each.problem, None):
                rejected.append(each)
    return [row for row, _ in kept.values()], rejected


def unstated(world: World[Any], instance: TaskInstance) -> Violation | None:
    """A violation if the gold calls write what the request does not say.

    A row is named by its id, or by texts of it that no other row of its table has together; a text
    or number is said literally. Truth values and choices are free to paraphrase.
    Only worlds of folders say which row a tool writes; others are not looked at.
    """
    if not isinstance(world, FolderWorld):
        return None
    try:
        prepared = ToolUseDomain(world).prepared(instance)
    except DataEnvGymError:
        return None  # the audit says why
    said = instance.instruction.casefold()
    tools = {each.name: each for each in world.spec.tools}
    missing: list[str] = []
    for call in prepared.problem.gold:
        tool = tools[call.name]
        if tool.does in ("list", "read"):
            continue
        fields = {f.name: f for t in world.spec.tables if t.name == tool.table for f in t.fields}
        texts = [name for name, field in fields.items() if field.type == "text"]
        for name, value in call.arguments.items():
            if _is_said(value, said):
                continue
            if name == "id":
                rows = getattr(prepared.state, tool.table)
                named = {
                    id: {getattr(row, text) for text in texts if _is_said(getattr(row, text), said)}
                    for id, row in rows.items()
                }
                others = [
                    id for id in named if id != value and named.get(value, set()) <= named[id]
                ]
                if value in named and not named[value]:
                    missing.append(f"{call.name} needs {value!r}, and names nothing of it")
                elif value in named and others:
                    fits = ", ".join(others)
                    missing.append(f"{call.name} needs {value!r}, and the request also fits {fits}")
            elif name in fields and not fields[name].choices and fields[name].type != "boolean":
                missing.append(f"{call.name} needs {name} {value!r}, which is not said")
    if not missing:
        return None
    return Violation("unstated", instance.id, f"unsolvable as stated: {'; '.join(missing)}")


def _is_said(value: Any, said: str) -> bool:
    """Whether these words are in the request; an empty text is never said."""
    text = str(value).casefold().strip()
    return bool(text and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", said))


def harder(spec: WorldSpec, rows: Sequence[Row], n: int) -> list[Row]:
    """Up to n variants of the tasks, one of each kind in turn.

    joined      two tasks as one request
    lookalike   an entry resembles the wanted one
    fallback    the wanted entry does not exist, and the request says what to do then
    """
    pairs = sorted(combinations(range(len(rows)), 2), key=lambda pair: (pair[1] - pair[0], pair))
    kinds = (
        (_joined(rows[i], rows[j]) for i, j in pairs),
        filter(None, (_lookalike(spec, row) for row in rows)),
        filter(None, (_fallback(spec, rows[i], rows[j]) for i, j in pairs)),
    )
    return list(islice(filter(None, (each for turn in zip_longest(*kinds) for each in turn)), n))


def _joined(one: Row, other: Row) -> Row:
    return {
        "id": f"{one['id']}+{other['id']}",
        "instruction": f"{one['instruction']}\nAlso: {other['instruction']}",
        "skill": f"{one['skill']} and {other['skill']}",
        "category": "joined",
        "gold": [*one["gold"], *other["gold"]],
    }


def _wanted(spec: WorldSpec, row: Row) -> Entry | None:
    """The entry that the only gold call is about."""
    (call, *more) = row["gold"]
    table = next(tool.table for tool in spec.tools if tool.name == call["name"])
    found = (e for e in spec.entries if (e.table, e.id) == (table, call["arguments"].get("id")))
    return None if more else next(found, None)


def _lookalike(spec: WorldSpec, row: Row) -> Row | None:
    if (entry := _wanted(spec, row)) is None:
        return None
    said, values = row["instruction"].casefold(), plain(entry.values)
    free = [f.name for t in spec.tables if t.name == entry.table for f in t.fields if not f.choices]
    named = [
        name for name in free if isinstance(values[name], str) and _is_said(values[name], said)
    ]
    if not named:
        return None
    like = {**values, **{name: f"{values[name]} II" for name in named}}
    state = {entry.table: {f"{entry.id}_ii": like}}
    request = f"{row['instruction']}\nMind that a similar one exists."
    own = {"instruction": request, "category": "lookalike", "state": state}
    return {**row, "id": f"{row['id']}-lookalike", **own}


def _fallback(spec: WorldSpec, one: Row, other: Row) -> Row | None:
    entry = _wanted(spec, one)
    if entry is None or any(call["arguments"].get("id") == entry.id for call in other["gold"]):
        return None
    return {
        "id": f"{one['id']}-or-{other['id']}",
        "instruction": f"{one['instruction']}\nIf there is none of that name, do this instead: "
        f"{other['instruction']}",
        "skill": f"{one['skill']} or {other['skill']}",
        "category": "fallback",
        "state": {entry.table: {entry.id: None}},
        "gold": other["gold"],
    }
