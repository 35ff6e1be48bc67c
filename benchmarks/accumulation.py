"""Cost of a step outside generation, grading and training, after many records have accumulated.

    python -m benchmarks.accumulation [RECORDS [INSTANCES]]

Steps with 200 new records each (word problems of some 70 words), with 10,000 evaluated instances:
the first ones of an episode, and those after 100,000 records (in 500 steps, between which only ten
instances are evaluated). The student answers at once and learns nothing, but writes the dataset as
real ones do. The floor is writing the same files, from bytes, in the same run. `cpu` is the
processor time of this process within `outside`; the rest is waiting for the disk and for other
processes. The table also has the first step of a process, which imports; resuming the episode; and
one step in mode "accumulate", which trains on all records.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import print_table, write_results
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.environments import OpenEnded, TeachingEnvironment
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TrainingRun
from dataenvgym.records import CompletedTaskInstance, SupervisedDatum, TaskInstance, TrainingDatum
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import write_bytes
from dataenvgym.students.llama_factory import write_dataset
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.source import Split

NEW = 200
STEPS = 10
PARTS = ("check", "dataset", "save")
EXCLUDED = ("generate", "score", "train", "load")
_NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jane", "Kim", "Leo")
_THINGS = ("apples", "books", "coins", "disks", "eggs", "flags", "gloves", "hats", "jars", "keys")
_PLACES = ("market", "harbour", "school", "library", "garden", "station", "bakery", "museum")


def main(argv: Sequence[str] | None = None) -> None:
    """The tables."""
    arguments = sys.argv[1:] if argv is None else argv
    n_records = int(arguments[0]) if arguments else 100_000
    n_instances = int(arguments[1]) if len(arguments) > 1 else 10_000
    folder = Path(tempfile.mkdtemp(prefix="dataenvgym-accumulation-"))
    try:
        results = measured(folder, n_records, n_instances)
    finally:
        shutil.rmtree(folder)
    print_table(results["steps"])
    print()
    print_table(results["once"])
    write_results("accumulation", {"n_instances": n_instances, **results})


def measured(folder: Path, n_records: int, n_instances: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of seconds: medians of steps, and events that happen once."""
    task = WordProblems(n_instances)
    rng = derive_rng(0, "records")
    environment = OpenEnded(task, Student(), directory=folder / "run")
    reset = _seconds(lambda: environment.reset(seed=0))
    first = _seconds(lambda: environment.step(word_problems(NEW, rng)))
    spent = environment.results[-1].seconds
    first -= sum(spent.get(part, 0.0) for part in EXCLUDED)
    steps = [_steps(environment, rng, "the first steps")]
    task.is_brief = True
    while environment.results[-1].n_records_total < n_records:
        environment.step(word_problems(NEW, rng))
    task.is_brief = False
    environment.step(word_problems(NEW, rng))
    held = environment.results[-1].n_records_total
    steps.append(_steps(environment, rng, f"after {held:,} records"))
    steps.append(_floor(environment, folder / "floor"))
    once = [
        {"once": "reset (evaluation included)", "s": reset},
        {"once": "the very first step, outside", "s": first},
    ]
    again = OpenEnded(task, Student(), directory=folder / "run")
    seconds = _seconds(lambda: again.reset(seed=0, options={"resume": True}))
    once.append({"once": "resume", "s": seconds})
    once.append(_accumulating(task, rng, held))
    return {"steps": steps, "once": once}


def _steps(environment: TeachingEnvironment, rng: np.random.Generator, name: str) -> dict[str, Any]:
    """Medians over some steps: wall-clock seconds of the whole step, minus the excluded phases."""
    rows: list[dict[str, float]] = []
    for _ in range(STEPS):
        records = word_problems(NEW, rng)
        excluded, began = _excluded_cpu(environment), time.process_time()
        wall = _seconds(lambda records=records: environment.step(records))
        cpu = time.process_time() - began - (_excluded_cpu(environment) - excluded)
        result = environment.results[-1]
        assert result.n_records == NEW, result.dropped
        spent = {part: result.seconds.get(part, 0.0) for part in (*PARTS, *EXCLUDED)}
        outside = wall - sum(spent[part] for part in EXCLUDED)
        rows.append({**spent, "outside": outside, "cpu": cpu})
    median = {part: statistics.median(row[part] for row in rows) for part in rows[0]}
    return {
        "median_s": name,
        **{part: median[part] for part in PARTS},
        "rest": median["outside"] - sum(median[part] for part in PARTS),
        "outside": median["outside"],
        "cpu": median["cpu"],
        "max_outside": max(row["outside"] for row in rows),
        "generate+score+train": sum(median[part] for part in EXCLUDED),
    }


def _floor(environment: TeachingEnvironment, folder: Path) -> dict[str, Any]:
    """The same files as of the last step, written from bytes."""
    last = environment.directory / "iterations" / f"{environment.results[-1].iteration:03d}"
    files = [path for path in last.rglob("*") if path.is_file()]
    contents = {path.relative_to(last): path.read_bytes() for path in files}
    spent: dict[str, list[float]] = {"check": [], "dataset": [], "save": [], "rest": []}
    cpus: list[float] = []
    for _ in range(STEPS):
        began = time.process_time()
        seconds = dict.fromkeys(spent, 0.0)
        for path, content in contents.items():
            part = {"dataset": "dataset", "completed.jsonl": "save", "records.jsonl": "check"}.get(
                path.parts[0], "rest"
            )
            if path.parts[0] != "adapter":
                seconds[part] += _seconds(lambda p=path, c=content: write_bytes(folder / p, c))
        cpus.append(time.process_time() - began)
        for part, one in seconds.items():
            spent[part].append(one)
    median = {part: statistics.median(values) for part, values in spent.items()}
    totals = [sum(values) for values in zip(*spent.values(), strict=True)]
    return {
        "median_s": "floor: bare writing",
        **median,
        "outside": statistics.median(totals),
        "cpu": statistics.median(cpus),
        "max_outside": max(totals),
        "generate+score+train": 0.0,
    }


def _accumulating(task: Task, rng: np.random.Generator, n_records: int) -> dict[str, Any]:
    """One step in mode "accumulate" after so many records."""
    environment = OpenEnded(task, Student(), mode="accumulate")
    environment.reset(seed=0)
    environment.step(word_problems(n_records, rng))
    wall = _seconds(lambda: environment.step(word_problems(NEW, rng)))
    spent = environment.results[-1].seconds
    environment.close()
    outside = wall - sum(spent.get(part, 0.0) for part in EXCLUDED)
    return {"once": 'a step in mode "accumulate", outside', "s": outside}


def _excluded_cpu(environment: TeachingEnvironment) -> float:
    """Processor seconds of this process for evaluation and training so far."""
    task, student = environment.task, environment.predictor
    assert isinstance(task, WordProblems)
    assert isinstance(student, Student)
    return task.cpu + student.cpu


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# --- the task and the student ---


class WordProblems(Task):
    """So many word problems in each split, no two alike.

    While it `is_brief`, it does not evaluate and shows ten of the last answers.
    """

    name = "word_problems"

    def __init__(self, n_instances: int) -> None:
        super().__init__(sampling=SamplingParameters(max_tokens=16))
        self._n_instances = n_instances
        self._completed: list[CompletedTaskInstance] = []
        self.cpu = 0.0
        self.is_brief = False

    def evaluate(self, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
        if self.is_brief:
            return self._completed[:10]
        began = time.process_time()
        self._completed = super().evaluate(predictor)
        self.cpu += time.process_time() - began
        return self._completed

    def load(self, split: Split) -> Sequence[TaskInstance]:
        problems = word_problems(self._n_instances, derive_rng(0, "instances", split))
        return [
            TaskInstance(
                id=f"{split}-{i}",
                task=self.name,
                instruction=p.instruction,
                answer="1",
                skill=f"skill {i % 20}",
                category=f"category {i % 5}",
            )
            for i, p in enumerate(problems)
        ]

    def make_environment(self) -> TaskEnvironment:
        return MathEnvironment(self.instances)


class Student(ScriptedPredictor):
    """Answers at once, learns nothing, and writes the dataset."""

    def __init__(self) -> None:
        super().__init__(lambda conversation: "#### 1")
        self.cpu = 0.0

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        with run.phase("dataset"):
            write_dataset(run.directory / "dataset", training_data)
        began = time.process_time()
        super().train(training_data, run)
        self.cpu += time.process_time() - began


def word_problems(count: int, rng: np.random.Generator) -> list[SupervisedDatum]:
    """Problems of about 45 words with solutions of about 25; no 13 in a row without a number."""
    names, things = rng.choice(_NAMES, (count, 2)), rng.choice(_THINGS, (count, 2))
    places, numbers = rng.choice(_PLACES, count), rng.integers(2, 10**8, (count, 6))
    return [
        SupervisedDatum(
            instruction=(
                f"On her way to the {place} {one} buys {a} {this} for {b} cents each and gives "
                f"{e} of them to {two}, who has {c} {that} already and would like {f} of both. "
                f"How many cents has {one} left if she began with {d} cents?"
            ),
            output=(
                f"The {this} cost {a} times {b} cents, and {one} began with {d} cents, so that "
                f"she has {d - a * b} cents left at the {place}.\n#### {d - a * b}"
            ),
        )
        for (one, two), (this, that), place, (a, b, c, d, e, f) in zip(
            names, things, places, numbers.tolist(), strict=True
        )
    ]


if __name__ == "__main__":
    main()
