"""Writes a world and its problems with a teacher, and keeps the problems that pass the audit.

    tables -> entries -> tools -> intents -> tasks -> harder variants

The teacher answers the first five steps as JSON. Each answer, and each round of tries of a
reference policy, is saved in `FOLDER/steps`, so a killed run continues with the next one. Harder
variants are made of accepted tasks. `report.json` counts what was rejected by reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from dataenvgym.domains.tool_use.candidates import OTHER_FOLDER, Row, harder, judge_candidates
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.worlds.folder import (
    PROBLEMS_FILE,
    WORLD_FILE,
    Entry,
    Part,
    PartT,
    TableSpec,
    ToolSpec,
    Value,
    WorldSpec,
    plain,
    read_world,
)
from dataenvgym.errors import ConfigurationError, EvaluationError, first_fault
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TeacherInterface
from dataenvgym.records import CompletedTaskInstance, Message
from dataenvgym.records.checksums import phase
from dataenvgym.storage import is_temporary, write_json, write_jsonl
from dataenvgym.tasks.base import sample_seed
from dataenvgym.tasks.rollouts import describe_speakers
from dataenvgym.tasks.worlds.audit import Violation
from dataenvgym.teachers.structured import ask_json
from dataenvgym.workspace import claim, opened

_TRIES = 8  # of the reference policy
_MOST_ANSWERS = 3  # to one step
_RESTORE = "restore it, or synthesize the world again in a new folder"


class Tables(Part):
    """The first answer of the teacher: the name, the rules and the schema of the world."""

    name: str
    policy: str
    tables: tuple[TableSpec, ...]


class Entries(Part):
    """The rows of the first state."""

    entries: tuple[Entry, ...] = Field(min_length=1)


class Tools(Part):
    """The tools."""

    tools: tuple[ToolSpec, ...] = Field(min_length=1)


class Intents(Part):
    """Kinds of requests."""

    intents: tuple[str, ...] = Field(min_length=1)


class Call(Part):
    """A gold call."""

    name: str
    arguments: tuple[Value, ...]


class TaskDraft(Part):
    """A task as the teacher writes it."""

    instruction: str
    skill: str
    calls: tuple[Call, ...]


class Tasks(Part):
    """Tasks of one intent."""

    tasks: tuple[TaskDraft, ...] = Field(min_length=1)


class Report(Part):
    """report.json, the last file of a synthesis.

    Attributes:
        rejected: the number of rejections by reason.
        rejections: the reason (`check`), the id of the problem and the finding of each.
    """

    candidates: int
    accepted: int
    rejected: dict[str, int]
    rejections: tuple[Violation, ...]


@dataclass(frozen=True)
class _Steps:
    """Asks the teacher for each step once, and saves its answers."""

    folder: Path
    theme: str
    teacher: TeacherInterface
    seed: int

    def answer(
        self, name: str, kind: type[PartT], text: str, fits: Callable[[PartT], object] = bool
    ) -> PartT:
        """The saved answer, or a new one that `fits` accepts."""

        def ask() -> PartT:
            fault = "the call failed, or the reply is not JSON of the schema"
            for i in range(_MOST_ANSWERS):
                again = f"\n\nThe answer before was refused: {fault}" if i else ""
                content = f"Theme of the world: {self.theme}\n\n{text}{again}"
                sampling = SamplingParameters(temperature=1.0, max_tokens=8192, seed=self.seed + i)
                (answer,) = ask_json(
                    self.teacher,
                    [(Message(role="user", content=content),)],
                    kind.model_json_schema(),
                    sampling,
                    purpose="synthesis",
                )
                if answer is None:
                    continue
                try:
                    read = kind.model_validate(answer)
                    fits(read)
                except ValidationError as error:
                    fault = first_fault(error)
                    continue
                return read
            raise EvaluationError(
                f"step {name!r}: no usable answer of the teacher in {_MOST_ANSWERS} tries: {fault}."
                " Run the command again to ask once more, or use another teacher"
            )

        return phase(self.folder / f"{name}.json", ask, kind, _RESTORE)


def synthesize(
    folder: str | Path,
    theme: str,
    teacher: TeacherInterface,
    *,
    tasks: int = 20,
    seed: int = 0,
    policy: PredictorInterface | None = None,
) -> Report:
    """Write a world about the theme into the folder; the same call continues a killed one.

    Args:
        tasks: how many tasks the teacher is asked for; as many harder variants are tried.
        seed: of the teacher's replies, the policy's tries and the audit.
        policy: a reference student; a task that it solves in none of 8 tries is rejected.

    Raises:
        ConfigurationError: if the folder has other files.
        RunDirectoryError: if it has a world of another theme, size, seed or policy, or another
            process writes to it.
        EvaluationError: if the teacher gives no usable answer to a step, the policy fails, no task
            is accepted, or the world is unsound.
    """
    folder = Path(folder)
    described = None if policy is None else describe_speakers({"policy": policy})["policy"]
    asked = {"theme": theme, "tasks": tasks, "seed": seed, "policy": described}
    identity = json.loads(json.dumps({"environment": "synthesis", **asked}, default=str))

    def begin() -> None:
        names = {path.name for path in folder.iterdir() if not is_temporary(path)} - {"steps"}
        is_begun = "environment.json" in names
        if names and not is_begun:
            raise ConfigurationError(f"{folder} is not an empty folder: name a new one")
        claim(folder, identity, is_begun=is_begun, way_out="name a new folder")

    with opened(folder, check=begin):
        written = partial(_written, folder, theme, teacher, tasks, seed, policy)
        return phase(folder / "report.json", written, Report)  # last: it is complete


def _written(
    folder: Path,
    theme: str,
    teacher: TeacherInterface,
    tasks: int,
    seed: int,
    policy: PredictorInterface | None,
) -> Report:
    step = _Steps(folder / "steps", theme, teacher, seed).answer

    def spec_of(tables: Tables, **parts: Any) -> WorldSpec:
        return WorldSpec.model_validate(
            {**tables.model_dump(), "entries": (), "tools": (), **parts}
        )

    tables = step("tables", Tables, _TABLES, spec_of)
    shown = tables.model_dump_json()
    entries = step(
        "entries",
        Entries,
        f"{_ENTRIES}\n\n{shown}",
        lambda read: spec_of(tables, entries=read.entries),
    ).entries
    tools = step(
        "tools",
        Tools,
        f"{_TOOLS}\n\n{shown}",
        lambda read: spec_of(tables, entries=entries, tools=read.tools),
    ).tools
    spec = spec_of(tables, entries=entries, tools=tools)
    write_json(folder / WORLD_FILE, spec)
    whole = spec.model_dump_json()
    intents = step("intents", Intents, f"{_INTENTS}\n\n{whole}").intents
    per_intent = -(-tasks // len(intents))
    drafts: list[TaskDraft] = []
    for number, intent in enumerate(intents):
        n = min(per_intent, tasks - len(drafts))
        if n < 1:
            break
        text = f"Intent: {intent}\nWrite {n} task{'s' * (n != 1)}. {_TASKS}\n\n{whole}"
        drafts += step(f"tasks_{number}", Tasks, text).tasks[:n]
    candidates = [
        {
            "id": f"task-{number}",
            "instruction": draft.instruction,
            "skill": draft.skill,
            "category": "simple",
            "gold": [
                {"name": call.name, "arguments": plain(call.arguments)} for call in draft.calls
            ],
        }
        for number, draft in enumerate(drafts)
    ]
    world = read_world(folder)
    simple, rejected = judge_candidates(world, candidates, seed=seed)
    variants = harder(spec, simple, tasks)
    accepted, more = judge_candidates(world, [*simple, *variants], seed=seed)
    rejected += more
    if policy is not None and accepted:
        accepted, more = _solved(folder, accepted, policy, seed)
        rejected += more
    if not accepted:
        reasons = "; ".join(f"{each.problem}: {each.check}: {each.detail}" for each in rejected)
        raise EvaluationError(f"no task was accepted: {reasons}: {OTHER_FOLDER}")
    write_jsonl(folder / PROBLEMS_FILE, accepted)
    return Report(
        candidates=len(candidates) + len(variants),
        accepted=len(accepted),
        rejected=dict(sorted(Counter(each.check for each in rejected).items())),
        rejections=tuple(rejected),
    )


def _solved(
    folder: Path, rows: Sequence[Row], policy: PredictorInterface, seed: int
) -> tuple[list[Row], list[Violation]]:
    """Separate the tasks that the policy solves in at least one of 8 tries (pass@8 > 0).

    Each round of tries, one for each task that is not solved yet, is saved.
    """
    steps = folder / "steps"
    write_jsonl(steps / PROBLEMS_FILE, rows)
    task = ToolUseTask(str(folder), steps / PROBLEMS_FILE).whole()
    left = {instance.id: instance for instance in task.instances}

    def tries(number: int) -> list[CompletedTaskInstance]:
        changes = {"temperature": 1.0, "seed": sample_seed(seed, number)}
        sampling = task.sampling.model_copy(update=changes)
        done = task.attempt(policy, list(left.values()), sampling=sampling)
        if failed := [each for each in done if each.error]:
            raise EvaluationError(
                f"the reference policy failed at {len(failed)} tasks, such as "
                f"{failed[0].instance.id!r}: {failed[0].error}. Run the command again when it "
                "answers"
            )
        return done

    for number in range(_TRIES if left else 0):
        path = steps / f"tries_{number}.jsonl"
        for each in phase(path, partial(tries, number), list[CompletedTaskInstance]):
            if each.was_correct:
                left.pop(each.instance.id, None)
        if not left:
            break
    why = f"the reference policy solves it in none of {_TRIES} tries"
    rejected = [Violation("pass@8", id, why) for id in left]
    return [row for row in rows if row["id"] not in left], rejected


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
