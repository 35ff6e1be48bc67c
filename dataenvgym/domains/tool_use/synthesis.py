"""Writes a world and its problems with a teacher, and keeps the problems that pass the audit.

    tables -> entries -> tools -> intents -> tasks -> harder variants

The teacher answers the first five steps as JSON; each answer is saved in `FOLDER/steps`, so a
killed run continues with the next step. A harder variant asks for two accepted tasks at once. Each
candidate is read, then compared with its request (`unstated`), then audited with all others.
`report.json` counts what was rejected by reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.domains.tool_use.problem import to_instance
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.worlds.folder import (
    PROBLEMS_FILE,
    WORLD_FILE,
    Entry,
    TableSpec,
    ToolSpec,
    Value,
    WorldSpec,
    _Part,
    read_world,
)
from dataenvgym.errors import ConfigurationError, EvaluationError, InvalidInstanceError, first_fault
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TeacherInterface
from dataenvgym.llm.structured import ask_json
from dataenvgym.records import Message, TaskInstance
from dataenvgym.storage import read_json, write_json, write_jsonl
from dataenvgym.tasks.rows import SourceRow
from dataenvgym.tasks.worlds.world import World

_TRIES = 8  # of the reference policy
_MOST_TRIES = 3  # answers to one step


class Tables(_Part):
    """The first answer of the teacher: the name, the rules and the schema of the world."""

    name: str
    policy: str
    tables: tuple[TableSpec, ...]


class Entries(_Part):
    """The rows of the first state."""

    entries: tuple[Entry, ...]


class Tools(_Part):
    """The tools."""

    tools: tuple[ToolSpec, ...]


class Intents(_Part):
    """Kinds of requests."""

    intents: tuple[str, ...]


class Call(_Part):
    """A gold call."""

    name: str
    arguments: tuple[Value, ...]


class TaskDraft(_Part):
    """A task as the teacher writes it."""

    instruction: str
    skill: str
    calls: tuple[Call, ...]


class Tasks(_Part):
    """Tasks of one intent."""

    tasks: tuple[TaskDraft, ...]


class Rejection(NamedTuple):
    """Why a candidate was rejected; `reason` is a check of the audit, or one of our own."""

    id: str
    reason: str
    detail: str


def judge_candidates(
    world: World[Any], rows: Iterable[dict[str, Any]], *, seed: int = 0
) -> tuple[list[dict[str, Any]], list[Rejection]]:
    """Separate sound problems from broken ones.

    Reasons besides the checks of the audit: `form` (it cannot be read), `repeated` (the id or the
    request of another one), `unstated` (the request does not say what the gold calls need).

    Raises:
        EvaluationError: if the world itself fails the audit; all findings are in one message.
    """
    rejected: list[Rejection] = []
    kept: dict[str, tuple[dict[str, Any], TaskInstance]] = {}
    requests: set[str] = set()
    for number, row in enumerate(rows):
        id = str(row.get("id", number))
        try:
            source = SourceRow(id=id, where=f"candidate {number + 1}", values=row)
            instance = to_instance(source, task=world.name, world=world.name)
        except (InvalidInstanceError, ValidationError) as error:
            rejected.append(Rejection(id, "form", str(error)))
            continue
        request = " ".join(instance.instruction.casefold().split())
        if id in kept or request in requests:
            rejected.append(Rejection(id, "repeated", "another task has its id or its request"))
        elif missing := unstated(world, instance):
            rejected.append(
                Rejection(id, "unstated", f"unsolvable as stated: {'; '.join(missing)}")
            )
        else:
            kept[id] = row, instance
            requests.add(request)
    while kept:
        done = audit(world, [instance for _, instance in kept.values()], seed=seed)
        faults = [each for each in done.violations if each.problem not in kept]
        found = [each for each in done.violations if each.problem in kept]
        if not found and faults:
            raise EvaluationError(f"world {world.name!r} is unsound: {'; '.join(map(str, faults))}")
        if not found:
            break
        for each in found:
            if kept.pop(each.problem, None):
                rejected.append(Rejection(each.problem, each.check, each.detail))
    return [row for row, _ in kept.values()], rejected


def unstated(world: World[Any], instance: TaskInstance) -> list[str]:
    """What the gold calls write although the request does not say it, in words.

    A row is named by its id, or by texts of it that no other row of its table has together; a text
    or number is said literally. Truth values and choices are free to paraphrase.
    """
    spec = getattr(world, "spec", None)
    if not isinstance(spec, WorldSpec):
        return []
    said = instance.instruction.casefold()
    tools = {each.name: each for each in spec.tools}
    missing: list[str] = []
    gold: Any = instance.data.get("gold", ())
    for call in gold:
        found = tools.get(call["name"])
        if found is None or found.does in ("list", "read"):
            continue
        fields = {f.name: f for t in spec.tables if t.name == found.table for f in t.fields}
        for name, value in call["arguments"].items():
            if name == "id":
                rows = [e for e in spec.entries if e.table == found.table]
                if not _is_said(value, said) and (why := _not_named(value, rows, fields, said)):
                    missing.append(f"{call['name']} needs {value!r}, {why}")
            free = name not in fields or fields[name].choices or fields[name].type == "boolean"
            if name != "id" and not free and not _is_said(value, said):
                missing.append(f"{call['name']} needs {name} {value!r}, which is not said")
    return missing


def _is_said(value: Any, said: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(str(value).casefold())}(?!\w)", said))


def _not_named(id: str, rows: Sequence[Entry], fields: Any, said: str) -> str | None:
    def mentions(row: Entry) -> frozenset[str]:
        texts = (v for v in row.values if fields[v.name].type == "text")
        return frozenset(str(v.value) for v in texts if _is_said(v.value, said))

    own = next((mentions(row) for row in rows if row.id == id), frozenset())
    if not own:
        return "and names nothing of it" if any(r.id == id for r in rows) else None
    others = [row.id for row in rows if row.id != id and own <= mentions(row)]
    return f"and the request also fits {', '.join(others)}" if others else None


def harder(rows: Sequence[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """Up to n pairs of tasks, each pair as one request; rows are used in turn."""
    pairs = sorted(combinations(range(len(rows)), 2), key=lambda pair: (pair[1] - pair[0], pair))
    return [
        {
            "id": f"{rows[i]['id']}+{rows[j]['id']}",
            "instruction": f"{rows[i]['instruction']}\nAlso: {rows[j]['instruction']}",
            "skill": f"{rows[i]['skill']} and {rows[j]['skill']}",
            "category": "harder",
            "gold": [*rows[i]["gold"], *rows[j]["gold"]],
        }
        for i, j in pairs[:n]
    ]


@dataclass(frozen=True)
class _Steps:
    """Asks the teacher for each step once, and saves its answers."""

    folder: Path
    theme: str
    teacher: TeacherInterface
    seed: int

    def answer(self, name: str, kind: type[_Part], text: str, fits: Callable[[Any], object]) -> Any:
        """The saved answer, or a new one that `fits` accepts."""
        path = self.folder / f"{name}.json"
        if path.exists():
            return kind.model_validate(read_json(path))
        fault = "the call failed, or the reply is not JSON of the schema"
        for i in range(_MOST_TRIES):
            again = f"\n\nThe answer before was refused: {fault}" if i else ""
            message = Message(
                role="user", content=f"Theme of the world: {self.theme}\n\n{text}{again}"
            )
            sampling = SamplingParameters(temperature=1.0, max_tokens=8192, seed=self.seed + i)
            schema = kind.model_json_schema()
            (answer,) = ask_json(self.teacher, [(message,)], schema, sampling, purpose="synthesis")
            if answer is None:
                continue
            try:
                read = kind.model_validate(answer)
                fits(read)
            except ValidationError as error:
                fault = first_fault(error)
                continue
            write_json(path, read.model_dump(mode="json"))
            return read
        raise EvaluationError(
            f"step {name!r}: no usable answer of the teacher in {_MOST_TRIES} tries: {fault}. Run "
            "the command again to ask once more, or use another teacher"
        )


def synthesize(
    folder: str | Path,
    theme: str,
    teacher: TeacherInterface,
    *,
    tasks: int = 20,
    seed: int = 0,
    policy: PredictorInterface | None = None,
) -> dict[str, Any]:
    """Write a world about the theme into the folder; return its report.

    Args:
        tasks: how many tasks the teacher is asked for; as many harder variants are tried.
        seed: of the teacher's replies and of the audit.
        policy: a reference student; a task that it solves in none of 8 tries is rejected.

    Raises:
        ConfigurationError: if the folder has a world of another theme or size.
        EvaluationError: if the teacher gives no usable answer to a step, or the world is unsound.
    """
    folder = Path(folder)
    asked = {"theme": theme, "tasks": tasks, "seed": seed}
    steps = folder / "steps"
    if not (steps / "asked.json").exists() and any(each != steps for each in folder.glob("*")):
        raise ConfigurationError(f"{folder} is not empty: name a new folder")
    steps.mkdir(parents=True, exist_ok=True)
    if not (steps / "asked.json").exists():
        write_json(steps / "asked.json", asked)
    elif (before := read_json(steps / "asked.json")) != asked:
        raise ConfigurationError(
            f"{folder} was begun with {before}, got {asked}: name a new folder"
        )
    if (folder / "report.json").exists():
        return dict(read_json(folder / "report.json"))

    step = _Steps(steps, theme, teacher, seed).answer

    def spec_of(tables: Tables, **parts: Any) -> WorldSpec:
        look = {"name": "look", "description": "", "does": "list", "arguments": ()}
        given = {**tables.model_dump(), "entries": (), **parts}
        look |= {"table": tables.tables[0].name if tables.tables else "", "sets": ()}
        given.setdefault("tools", ({**look, "only_if": ()},))
        return TypeAdapter(WorldSpec).validate_python(given)

    tables = step("tables", Tables, _TABLES, spec_of)
    shown = tables.model_dump_json()
    entries = step(
        "entries",
        Entries,
        f"{_ENTRIES}\n\n{shown}",
        lambda read: spec_of(tables, **read.model_dump()),
    )
    rows = entries.model_dump()
    tools = step(
        "tools",
        Tools,
        f"{_TOOLS}\n\n{shown}",
        lambda read: spec_of(tables, **rows, **read.model_dump()),
    )
    spec = spec_of(tables, **rows, **tools.model_dump())
    write_json(folder / WORLD_FILE, spec.model_dump(mode="json"))
    world = read_world(folder)
    whole = spec.model_dump_json()
    intents = step("intents", Intents, f"{_INTENTS}\n\n{whole}", lambda read: read).intents
    per_intent = max(1, -(-tasks // max(1, len(intents))))
    drafts: list[TaskDraft] = []
    for number, intent in enumerate(intents):
        n = min(per_intent, tasks - len(drafts))
        if n < 1:
            break
        text = f"Intent: {intent}\nWrite {n} task{'s' * (n != 1)}. {_TASKS}\n\n{whole}"
        drafts += step(f"tasks_{number}", Tasks, text, lambda read: read).tasks[:n]
    return _accept(folder, world, drafts, tasks, seed, policy)


def _accept(
    folder: Path,
    world: World[Any],
    drafts: Sequence[TaskDraft],
    tasks: int,
    seed: int,
    policy: PredictorInterface | None,
) -> dict[str, Any]:
    """Judge the drafts and their harder variants; write the problems and the report."""
    candidates = [
        {
            "id": f"task-{number}",
            "instruction": draft.instruction,
            "skill": draft.skill,
            "category": "simple",
            "gold": [
                {"name": call.name, "arguments": {v.name: v.value for v in call.arguments}}
                for call in draft.calls
            ],
        }
        for number, draft in enumerate(drafts)
    ]
    simple, rejected = judge_candidates(world, candidates, seed=seed)
    variants = harder(simple, tasks)
    accepted, more = judge_candidates(world, [*simple, *variants], seed=seed)
    rejected += more
    if policy is not None and accepted:
        accepted, more = _solved(folder, accepted, policy, seed)
        rejected += more
    if not accepted:
        reasons = "; ".join(f"{each.id}: {each.reason}: {each.detail}" for each in rejected)
        raise EvaluationError(f"no task was accepted: {reasons or 'the teacher wrote none'}")
    write_jsonl(folder / PROBLEMS_FILE, accepted)
    report = {
        "candidates": len(candidates) + len(variants),
        "accepted": len(accepted),
        "rejected": dict(sorted(Counter(each.reason for each in rejected).items())),
        "rejections": [each._asdict() for each in rejected],
    }
    write_json(folder / "report.json", report)  # last: it says that the folder is complete
    return report


def _solved(
    folder: Path, rows: Sequence[dict[str, Any]], policy: PredictorInterface, seed: int
) -> tuple[list[dict[str, Any]], list[Rejection]]:
    """Separate the tasks that the policy solves in at least one of 8 tries (pass@8 > 0)."""
    write_jsonl(folder / "steps" / PROBLEMS_FILE, rows)
    task = ToolUseTask(str(folder), folder / "steps" / PROBLEMS_FILE).whole()
    sampling = task.sampling.model_copy(update={"temperature": 1.0, "seed": seed})
    tries = task.attempt(policy, samples=_TRIES, sampling=sampling)
    solved = {each.instance.id for each in tries if each.was_correct}
    failed = {c.instance.id: c.error for c in tries if c.error and c.instance.id not in solved}
    if failed:
        id, error = next(iter(failed.items()))
        raise EvaluationError(
            f"the reference policy failed at {len(failed)} tasks, such as {id!r}: {error}. Run the "
            "command again when it answers"
        )
    rejected = [
        Rejection(row["id"], "pass@8", f"the reference policy solves it in none of {_TRIES} tries")
        for row in rows
        if row["id"] not in solved
    ]
    return [row for row in rows if row["id"] in solved], rejected


_TABLES = (
    "Design the state of a small world for an assistant with tools: a name in lower case, a policy "
    "(the rules of the assistant in a few sentences) and two or three tables with fields. Names "
    "are in snake_case. `choices` lists the values of a text field that has few, else it is empty."
)
_ENTRIES = (
    "Write six to ten entries for each of these tables. Each gives all fields. Names and titles of "
    "two entries differ."
)
_TOOLS = (
    "Write the tools over these tables. `does` is list, read, add, change or remove; all but list "
    "and add take the argument `id` besides. `arguments` names fields that the caller gives; "
    "`sets` gives fields a fixed value; `only_if` requires values of the row. An added row gets "
    "each field from an argument or from `sets`."
)
_INTENTS = "Write six different intents of users of this world that change its state, a line each."
_TASKS = (
    "A task is a request of a user, a short skill, and the calls that solve it. The request says "
    "every value that the calls write, literally, and names each row by its id, title or name. It "
    "is possible in the state below, and changes it."
)
