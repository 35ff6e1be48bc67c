"""Groups of options that tasks share (see `dataenvgym.options`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TeacherInterface
from dataenvgym.options import Given, PlainText
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.examples import Examples, ExamplesFor
from dataenvgym.tasks.pressures import Pressure
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate
from dataenvgym.tasks.rows import HubDataset
from dataenvgym.tasks.source import Source, Split

FRACTIONS: Mapping[Split, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
THIRDS: Mapping[Split, float] = {"train": 0.4, "validation": 0.3, "test": 0.3}
LONG_REPLIES = SamplingParameters(max_tokens=1024)


@dataclass(frozen=True, kw_only=True)
class PromptOptions:
    """The text around each problem.

    Attributes:
        system_prompt: a system message before each problem, or "" for none.
        template: the user message, in which `{instruction}` stands for the problem.
    """

    system_prompt: PlainText[str] = ""
    template: PlainText[str] = INSTRUCTION

    @property
    def prompt(self) -> PromptTemplate:
        """The two as a template; it raises a ConfigurationError if they do not fit."""
        return PromptTemplate(self.system_prompt, self.template)


Weight = Annotated[FiniteFloat, Ge(0)]


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """The problems of each split, if they come from files.

    Attributes:
        fractions: shares of a file that several splits use.
        limit: largest number of problems of each split: a seeded sample in the file's order.
        where: keep only rows whose field has one of the values: {level: [Level 4, Level 5]}.
        balance: fields of a row, such as [type, level]; the validation split is then the first
            `per_cell` problems with each combination of their values. Another split of the same
            place gets the rest, without regard to `fractions`.
        per_cell: see `balance`.
        seed: selects the problems of each split, and those of the sample.
    """

    fractions: Mapping[Split, Weight] = field(default_factory=lambda: FRACTIONS)
    limit: PositiveInt | None = None
    where: PlainText[Mapping[str, Any] | None] = None
    balance: PlainText[Sequence[str]] = ()
    per_cell: PositiveInt | None = None
    seed: int = 0


Places = str | Path | HubDataset | Mapping[str, Any] | Mapping[Split, Any]
"""A place with problems, or one for each split."""


@dataclass(frozen=True, kw_only=True)
class FileOptions(RowOptions):
    """Options of tasks from files.

    Attributes:
        sources: one path for all splits, or {train: ..., validation: ..., test: ...}; `eval` of one
            path uses all its problems (see `RowSource`).
        name: name of the task.
    """

    sources: Places = field(kw_only=False)
    name: str


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """Options of all tasks.

    Attributes:
        split: the split of `instances` and `evaluate`.
        sampling: how the student draws its replies.
        chunk_size: how many conversations one `predict` call gets.
        threads: how many task environments step at the same time.
        others: the models that its environments ask, by name: predictors or teachers (see
            `TaskEnvironment`).
        student: the weights in `dataenvgym/students/pocket` of a pocket student that learned part
            of this task; `student=pocket` uses them.
        pressure: changes the data so that some strategies gain more than others: a name, such as
            `traps`, or a name with its options (see `dataenvgym.tasks.pressures`).
        pressure_on_records: False keeps the pressure from training records: what a study's ceiling
            has.
        examples: worked examples in front of each problem (few-shot): a YAML file, its content, or
            a name of ours (see `dataenvgym.tasks.examples`).
        examples_for: "base" shows them to the student until it has learned; "always" to every
            student, and in its training records.
    """

    split: Given[Split] = "validation"
    sampling: SamplingParameters = LONG_REPLIES
    chunk_size: PositiveInt = 128
    threads: PositiveInt = 4
    others: Given[Mapping[str, PredictorInterface | TeacherInterface] | None] = None
    student: str = "pocket"
    pressure: str | Mapping[str, Any] | Pressure | None = None
    pressure_on_records: bool = True
    examples: str | Mapping[str, Any] | Examples | None = None
    examples_for: ExamplesFor = "base"


@dataclass(frozen=True, kw_only=True)
class PocketOptions(TaskOptions):
    """Options of pocket tasks.

    Attributes:
        n_train, n_validation, n_test: number of problems in each split.
        seed: selects the problems. The published figures use the default.
        name: of the task; None uses the name of the class.
    """

    n_train: NonNegativeInt = 2000
    n_validation: NonNegativeInt = 400
    n_test: NonNegativeInt = 400
    seed: int = 0
    name: Given[str | None] = None

    @property
    def sizes(self) -> Mapping[Split, int]:
        """The number of problems in each split."""
        return {"train": self.n_train, "validation": self.n_validation, "test": self.n_test}


@dataclass(frozen=True)
class TaskArguments(TaskOptions):
    """The arguments of `Task` itself.

    Attributes:
        source: provides the problems.
        domain: how they are posed, judged, compared and taught.
        name: of the task; None uses the name of the class.
    """

    source: Source | None = None
    domain: Domain | None = None
    _: KW_ONLY
    name: str | None = None
    sampling: SamplingParameters = SamplingParameters()
