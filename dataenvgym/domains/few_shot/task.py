"""Few-shot problems from files or named data sets, by split.

A task of the data set is `{"train": [{"input": ..., "output": ...}, ...], "test": [...]}`, with
grids as arrays of arrays (ARC). It comes as a file of its own in a folder, as a row, or as a value
of one JSON object whose keys are the ids (Kaggle's `*_challenges.json`, with the outputs of the
tests in `*_solutions.json` beside it). Each test becomes a problem, with the id of the task and
the number of the test: `007bbfb7-0`. A row's own `id` is that of the task. Problems of one task are
in the same split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self, cast

from annotated_types import Ge, Le
from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from dataenvgym import exact_json
from dataenvgym.domains.few_shot.augmentations import SYMMETRIES
from dataenvgym.domains.few_shot.domain import VIEW, FewShotDomain
from dataenvgym.domains.few_shot.environment import ATTEMPTS, output_of
from dataenvgym.domains.few_shot.problem import FewShotProblem, Grid, Pair, skill_of, text_of
from dataenvgym.errors import (
    ConfigurationError,
    InvalidInstanceError,
    UnparsableAnswerError,
    did_you_mean,
)
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import PlainText, takes
from dataenvgym.records import Model, TaskInstance
from dataenvgym.storage import read_model
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import FileOptions, PromptOptions, TaskOptions
from dataenvgym.tasks.row_source import RowSource
from dataenvgym.tasks.rows import HubDataset, SourceRow, parsed, read_rows, source_name
from dataenvgym.tasks.source import Split

TEMPLATE = """\
Find the rule that turns each input into its output. Reply with the output of the last input only, \
in the same form.

{instruction}"""


_SOLUTIONS = "it should hold a list of outputs for each id"


@dataclass(frozen=True, kw_only=True)
class FewShotOptions(TaskOptions, FileOptions, PromptOptions):
    """Options of `FewShotTask`.

    Attributes:
        ids: use only these tasks of the data set: a list of ids, or a file with one id a line, a
            JSON array of ids, or a JSON object whose keys are ids.
        max_turns: the student's attempts at each problem.
        views: the number of views in which each validation and test problem is posed: itself, and
            up to seven times turned or mirrored. With more than one, the score `voted` is the
            share of problems solved by a vote over the views.
    """

    name: str = "few_shot"
    template: PlainText[str] = TEMPLATE
    sampling: SamplingParameters = SamplingParameters(max_tokens=2048)
    ids: str | Path | Sequence[str | int] | None = None
    max_turns: PositiveInt = ATTEMPTS
    views: Annotated[int, Ge(1), Le(len(SYMMETRIES) + 1)] = 1


class FewShotTask(Task):
    """Few-shot problems, with skills that are read off the demonstrations.

    FewShotTask({"train": "arc/training", "validation": "arc/training", "test": "arc/evaluation"})
    """

    self_edit_engine = "grid_self_edit"

    @takes(FewShotOptions)
    def __init__(self, options: FewShotOptions) -> None:
        self._views = [*SYMMETRIES][: options.views - 1]
        self._ids = None if options.ids is None else ids_in(options.ids)
        domain = FewShotDomain(options.prompt, max_turns=options.max_turns)
        read, rows = partial(to_instance, task=options.name), partial(tests_in, ids=self._ids)
        self.set_up_rows(domain, options, read, keeps_test_apart=True, rows=rows)

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, with their views.

        Raises:
            ConfigurationError: if the split has no source, or one of `ids` is in no source.
            InvalidInstanceError, UnparsableAnswerError: naming the file and the task.
        """
        if self._ids is not None:
            places = cast(RowSource, self.source).places
            known = {_id_of(row) for place in places.values() for row in tasks_in(place)}
            if unknown := sorted(self._ids - known):
                raise ConfigurationError(
                    f"ids has {len(unknown)} ids that are in none of the sources of task "
                    f"{self.name!r}, such as {unknown[0]!r}.{did_you_mean(unknown[0], known)} "
                    f"The sources have {len(known)} tasks"
                )
        instances = super().load(split)
        if split == "train":
            return instances
        return [view for i in instances for view in (i, *(view_of(i, n) for n in self._views))]

    def share(self) -> str | None:
        assert self.source is not None
        n_views = 1 if self.split == "train" else 1 + len(self._views)
        return self.source.share(self.split, len(self.instances) // n_views)


def view_of(instance: TaskInstance, name: str) -> TaskInstance:
    """The problem with all its grids changed by the symmetry of that name."""
    symmetry = SYMMETRIES[name]
    problem = instance.data_as(FewShotProblem)
    pairs = [*problem.demonstrations, Pair(input=problem.input, output=output_of(instance))]
    *shown, last = [pair for pair in map(symmetry.of_pair, pairs) if pair is not None]
    changed = FewShotProblem(demonstrations=tuple(shown), input=last.input, view=name)
    return instance.model_copy(
        update={
            "id": f"{instance.id}{VIEW}{name}",
            "instruction": changed.text,
            "answer": text_of(last.output),
            "data": changed.model_dump(mode="json"),
        }
    )


def ids_in(ids: str | Path | Sequence[str | int]) -> frozenset[str]:
    """The ids of a list, or of a file (see `FewShotOptions`).

    Raises:
        ConfigurationError: if the file cannot be read, or there are no ids.
    """
    found: Any = ids
    if isinstance(ids, str | Path):
        try:
            text = Path(ids).expanduser().read_text(encoding="utf-8")
            found = exact_json.loads(text) if text.lstrip()[:1] in ("[", "{") else text.split()
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"ids is {str(ids)!r}, which cannot be read: {error}"
            ) from error
    if not found or not all(type(id) in (str, int) for id in found):
        raise ConfigurationError(f"ids is {found!r:.80}, expected at least one id, as text")
    return frozenset(map(str, found))  # on the command line, 59341089 is a number


def _pairs(value: Any) -> Any:
    """The pairs in a field; `datasets` has an object of lists in place of a list of objects."""
    if not isinstance(value, Mapping) or not all(
        isinstance(v, list | None) for v in value.values()
    ):
        return value
    columns = {name: column for name, column in value.items() if column is not None}
    return [dict(zip(columns, pair, strict=True)) for pair in zip(*columns.values(), strict=True)]


class _Test(Model, extra="ignore"):
    input: Grid
    output: Grid | None = None


class _Row(Model, extra="ignore"):
    """A task of the data set."""

    train: Annotated[tuple[Pair, ...], BeforeValidator(_pairs), Field(min_length=1)]
    test: Annotated[tuple[_Test, ...], BeforeValidator(_pairs), Field(min_length=1)]
    solutions: tuple[Grid, ...] | None = None

    @model_validator(mode="after")
    def _has_a_solution_for_each(self) -> Self:
        if self.solutions is not None and len(self.solutions) != len(self.test):
            raise ValueError(f"{len(self.solutions)} solutions for {len(self.test)} tests")
        return self


def tests_in(source: Path | HubDataset, ids: frozenset[str] | None) -> Iterator[SourceRow]:
    """One row for each test of the tasks in a source: the fields of its problem, and its output.

    Args:
        ids: of the tasks to use; None uses all.

    Raises:
        ConfigurationError, InvalidInstanceError: see `read_rows`; or if a task is malformed.
    """
    for row in tasks_in(source):
        if ids is not None and _id_of(row) not in ids:
            continue
        task = parsed(_Row, row.values, row.where)
        for number, test in enumerate(task.test):
            output = test.output if task.solutions is None else task.solutions[number]
            problem = FewShotProblem(demonstrations=task.train, input=test.input)
            values = {"problem": problem, "output": output}
            yield SourceRow(f"{row.id}-{number}", f"{row.where}, test {number}", values)


def tasks_in(source: Path | HubDataset) -> Iterator[SourceRow]:
    """The tasks in a source, one in each row."""
    for row in read_rows(source):
        own = row.values.get("id")
        id = own if isinstance(own, str) and own else row.id
        if not isinstance(source, Path) or row.where != str(source):
            yield replace(row, id=id)
            continue
        tasks = {id: row.values} if "train" in row.values else row.values
        beside = source.with_name(source.name.replace("challenges", "solutions"))
        solutions: Mapping[str, Any] = {}
        if beside != source and beside.exists():
            solutions = read_model(beside, dict[str, list[Any]], _SOLUTIONS, InvalidInstanceError)
        for id, task in tasks.items():
            given = {"solutions": solutions[id]} if id in solutions else {}
            values = {**task, **given} if isinstance(task, Mapping) else {"task": task}
            yield SourceRow(f"{source_name(source)}/{id}", f"{source}, task {id!r}", values)


def _id_of(row: SourceRow) -> str:
    return row.id.rsplit("/", 1)[-1]


def to_instance(row: SourceRow, task: str) -> TaskInstance:
    """The problem in a row of `tests_in`; UnparsableAnswerError if the test has no output."""
    problem, output = row.values["problem"], row.values["output"]
    if output is None:
        raise UnparsableAnswerError(
            f"{row.where} has no output, so that replies cannot be judged: give the test an "
            "`output`; those of *_challenges.json are read from *_solutions.json beside it"
        )
    skill, category = skill_of(problem.demonstrations)
    return TaskInstance(
        id=row.id,
        task=task,
        instruction=problem.text,
        answer=text_of(output),
        skill=skill,
        category=category,
        data=problem.model_dump(mode="json"),
    )
