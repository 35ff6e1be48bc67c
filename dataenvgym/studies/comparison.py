"""Turns runs into results, if a comparison of them is fair; compares existing runs like a study's.

All strategies must have the same base student, evaluation instances, trainer, number of iterations
and record budget. The validation split chooses an iteration, and only that one is scored on the
test split. Any other difference is a `Difference`, which is refused unless its key is allowed: the
configurations are compared before the runs, the results after them. Existing runs that differ only
in their seed are one strategy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from dataenvgym.environments.options import TeachingOptions
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.identity import decisive_values
from dataenvgym.runs.config.run_directory import read_config
from dataenvgym.runs.config.values import literal
from dataenvgym.runs.episodes.summary import read_summary
from dataenvgym.seeding import derive_rng
from dataenvgym.studies.aggregate import suite_scores
from dataenvgym.studies.noise import read_noise, record_budget
from dataenvgym.studies.notes import study_warnings
from dataenvgym.studies.plan import (
    CEILING,
    FLOOR,
    Cell,
    Role,
    choose_baseline,
    read_state,
)
from dataenvgym.studies.racing import Race
from dataenvgym.studies.results import (
    RunMeasures,
    StrategyRuns,
    StudyResults,
    measure_run,
    task_result,
    without_inference,
)
from dataenvgym.studies.statistics import Test, choose_test
from dataenvgym.workspace import is_hand_made, read_identity

EQUAL_SECTIONS = ("student", "predictor", "trainer", "task")
EQUAL_KEYS = ("episode.iterations", "environment.target_score")
RECORDS = "records"
"""The key of the record budget: agent.records_per_iteration x iterations, environment.max_records
at most."""
_UNBOUNDED = "unbounded, set environment.max_records"
RESULT_SECTIONS = {
    "student": ("student", "predictor"),
    "trainer": ("trainer",),
    "instances": ("task",),
    "test_instances": ("task",),
}
"""Properties in which finished runs must agree, and their sections of the configuration."""


@dataclass(frozen=True)
class Difference:
    """A difference between strategies that makes a comparison unfair.

    Attributes:
        key: its name for `--allow-unequal`.
        values: by strategy.
    """

    key: str
    values: Mapping[str, Any]

    def __str__(self) -> str:
        groups: dict[str, list[str]] = {}
        for strategy, value in self.values.items():
            groups.setdefault(str(value), []).append(strategy)
        return f"{self.key}: " + "; ".join(f"{v} ({', '.join(who)})" for v, who in groups.items())

    def is_covered(self, allowed_key: str) -> bool:
        """True if the key is this one or a section of it."""
        section = allowed_key.partition(".")[0]
        return f"{self.key}.".startswith(f"{allowed_key}.") or section in RESULT_SECTIONS.get(
            self.key, ()
        )


def config_differences(cells: Iterable[Cell]) -> list[Difference]:
    """Find unfair differences between the configurations on each task and seed.

    Neither the record budget nor the pressure on records is that of the ceiling; floors are not
    compared.
    """
    taught: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    both: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for cell in cells:
        if cell.role == "floor":
            continue
        values = {
            key: value
            for key, value in decisive_values(cell.config).items()
            if key.partition(".")[0] in EQUAL_SECTIONS or key in EQUAL_KEYS
        }
        values["episode.iterations"] = int(cell.config.episode.iterations)
        values.setdefault("environment.target_score", None)
        place, name = (cell.task, cell.seed), f"{cell.role} {cell.strategy}"
        if cell.role == "strategy":
            name, most = cell.strategy, record_budget(cell.config)
            budget = {RECORDS: _UNBOUNDED if math.isinf(most) else int(most)}
            taught.setdefault(place, {})[name] = values | budget
        of_all = {k: v for k, v in values.items() if k != "task.pressure_on_records"}
        both.setdefault(place, {})[name] = of_all
    return [d for of in (taught, both) for values in of.values() for d in _differences(values)]


def _differences(values: Mapping[str, Mapping[str, Any]]) -> Iterator[Difference]:
    for key in sorted({key for of in values.values() for key in of}):
        found = {name: of.get(key) for name, of in values.items()}
        first = next(iter(found.values()))
        if first == _UNBOUNDED or any(value != first for value in found.values()):
            yield Difference(key, found)  # two unlimited budgets are not equal


def result_differences(strategies: Sequence[StrategyRuns]) -> Iterator[Difference]:
    """Find differences in student and instances between runs of one task, and overspent budgets.

    Seeds are compared one by one, because a task may have other instances for another seed.
    """
    for seed in sorted({seed for one in strategies for seed in one.runs if one.role != "floor"}):
        of_seed = [one for one in strategies if seed in one.runs and one.role != "floor"]
        yield from _differences(
            {o.name: {k: o.runs[seed].identity.get(k) for k in RESULT_SECTIONS} for o in of_seed}
        )
        records = {one.name: one.runs[seed].result.records for one in of_seed}
        if over := {
            one.name: f"{records[one.name]} of {one.budget:g}"
            for one in of_seed
            if records[one.name] > one.budget
        }:
            yield Difference(RECORDS, over)


def allowed(differences: Iterable[Difference], allow: Sequence[str]) -> list[Difference]:
    """Return the differences, one for each key, if all are allowed.

    Args:
        allow: keys, or sections of keys, that may differ.

    Raises:
        ConfigurationError: names the differences that are not allowed.
    """
    found: dict[str, Difference] = {}
    for difference in differences:
        found.setdefault(difference.key, difference)
    refused = [d for d in found.values() if not any(map(d.is_covered, allow))]
    if refused:
        lines = "\n".join(f"  {d}" for d in refused)
        keys = " ".join(f"--allow-unequal {d.key}" for d in refused)
        raise ConfigurationError(
            f"the comparison would not be fair; the strategies differ in\n{lines}\n"
            f"Make these equal, or accept it, and the table will say so: {keys}"
        )
    return list(found.values())


def group_runs(
    cells: Sequence[Cell],
    measured: Mapping[Path, RunMeasures],
    reason: Callable[[Cell], str],
) -> dict[str, list[StrategyRuns]]:
    """The runs of strategies and bounds by task, the ceiling last; and why some are missing."""
    groups: dict[str, dict[tuple[Role, str], list[Cell]]] = {}
    for cell in cells:
        groups.setdefault(cell.task, {}).setdefault((cell.role, cell.strategy), []).append(cell)
    return {
        task: [
            StrategyRuns(
                name=name,
                role=role,
                runs={c.seed: measured[c.directory] for c in own if c.directory in measured},
                missing={c.seed: reason(c) for c in own if c.directory not in measured},
                budget=record_budget(own[0].config) if role == "strategy" else math.inf,
            )
            for (role, name), own in sorted(of.items(), key=lambda item: item[0][0] == "ceiling")
        ]
        for task, of in groups.items()
    }


def sum_up(
    tasks: Mapping[str, Sequence[StrategyRuns]],
    *,
    name: str,
    command: str,
    baseline: str,
    test: Test | None,
    allow_unequal: Sequence[str],
    noise_dir: str | Path | None = None,
    differences: Sequence[Difference] = (),
    notes: Sequence[str] = (),
    race: Race | None = None,
    races: Sequence[Path] = (),
) -> StudyResults:
    """Aggregate runs if they may be compared.

    Args:
        test: None lets the number of seeds decide.
        noise_dir: the folder of noise models; None uses none.
        differences: between the configurations.
        race, races: the race, or folders of races, that chose by their results which runs there
            are, so there are no intervals and p-values.

    Raises:
        ConfigurationError: if runs differ where they must agree.
    """
    found = [d for strategies in tasks.values() for d in result_differences(strategies)]
    unequal = allowed([*differences, *found], allow_unequal)
    seeds = [len(one.runs) for of in tasks.values() for one in of if one.role != "floor"]
    chosen = choose_test(max(seeds, default=0), test)
    summed = []
    for task, strategies in tasks.items():
        model = None if noise_dir is None else read_noise(task, noise_dir)
        variances = None if model is None else model.variances.get("test_gain")
        one = task_result(
            task,
            strategies,
            baseline=baseline,
            test=chosen,
            gain_variance=variances.gain_seed if variances else None,
            pair_variance=variances.seed if variances else None,
        )
        summed.append(one)
    warnings = study_warnings(tasks, summed)
    warnings += [
        f"these are runs of the race {one}, which chose by their results how many there are: "
        f"p-values and intervals would be wrong and are left out; {one / 'study.md'} has its own"
        for one in races
    ]
    if raced := race is not None or bool(races):
        summed = [without_inference(one) for one in summed]
    return StudyResults(
        name=name,
        command=command,
        baseline=baseline,
        test=chosen,
        tasks=tuple(summed),
        suite=None if raced else suite_scores(summed, chosen, derive_rng(0, "bootstrap")),
        race=race,
        unequal=tuple(map(str, unequal)),
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


# --- existing runs ---


def compare_runs(
    directories: Sequence[str | Path],
    *,
    baseline: str | None = None,
    test: Test | None = None,
    allow_unequal: Sequence[str] = (),
    noise_dir: str | Path = "noise",
    name: str = "comparison",
    command: str = "",
) -> StudyResults:
    """Compare finished runs; each group of runs that differ only in their seed is a strategy.

    Args:
        directories: run directories.
        baseline, test, allow_unequal, noise_dir: as for `run_study`.

    Raises:
        ConfigurationError: if the runs cannot be compared, or that would not be fair.
        RunDirectoryError: if one of them is not a finished run.
    """
    runs = [_existing(Path(directory)) for directory in directories]
    measured = {
        one.directory: measure_run(one.directory, iterations=int(one.config.episode.iterations))
        for one in runs
    }
    values = {
        one.directory: {
            **decisive_values(one.config),
            "episode.iterations": one.config.episode.iterations,
        }
        for one in runs
    }
    cells = _named(runs, values)
    if not (taught := dict.fromkeys(cell.strategy for cell in cells if cell.role == "strategy")):
        raise ConfigurationError("there is nothing to compare: name runs that are not bounds")
    for cell in cells:
        if cell.role == "ceiling" and not measured[cell.directory].result.records:
            raise ConfigurationError(
                f"{cell.directory} is a ceiling that trained on no records, so it has no result: "
                "leave it out, or run it again once its task has a train split"
            )
    # a run made in Python has no configuration: then compare all runs by their descriptions
    compared = cells
    if any(is_hand_made(cell.directory) for cell in cells):
        compared = [replace(cell, config=described_config(cell.directory)) for cell in cells]
    of_task = {(cell.task, cell.seed): cell for cell in cells if cell.role != "floor"}
    known = {(cell.task, cell.strategy, cell.seed) for cell in cells}
    lacking = [
        replace(cell, seed=seed, directory=Path())
        for cell in {(c.task, c.strategy): c for c in cells if c.role != "floor"}.values()
        for task, seed in sorted(of_task)
        if task == cell.task and (task, cell.strategy, seed) not in known
    ]
    studies = dict.fromkeys(cell.directory.absolute().parent.parent for cell in cells)
    first = {cell.task: cell.config for cell in reversed(cells)}
    return sum_up(
        group_runs([*cells, *lacking], measured, lambda cell: "no run of it was named"),
        name=name,
        command=command,
        baseline=choose_baseline(list(taught), baseline),
        test=test,
        allow_unequal=allow_unequal,
        noise_dir=noise_dir,
        differences=config_differences(compared),
        races=[study for study in studies if (state := read_state(study)) and state.race],
        notes=[
            f"{task}: the noise may differ: {changed}."
            for task, config in first.items()
            if (model := read_noise(task, noise_dir)) and (changed := model.differs(config))
        ],
    )


def _existing(directory: Path) -> Cell:
    """A finished run, named by its agent."""
    config = described_config(directory) if is_hand_made(directory) else read_config(directory)
    agent = str(config.agent.get("name") or config.agent._target_)
    bounds: dict[str, Role] = {FLOOR: "floor", CEILING: "ceiling"}
    role, task = bounds.get(agent, "strategy"), read_summary(directory).task
    return Cell(role, agent, task, int(config.seed), config, directory)


def _named(runs: Sequence[Cell], values: Mapping[Path, Mapping[str, Any]]) -> list[Cell]:
    """The runs, with those that differ in more than their seed named by the keys that differ."""

    def differing(one: Cell, other: Cell) -> list[str]:
        """The keys in which they differ, except keys that follow the seed in both."""
        a, b = values[one.directory], values[other.directory]
        return [
            key
            for key in sorted({*a, *b})
            if a.get(key) != b.get(key)
            and (
                key.rpartition(".")[2] != "seed"
                or (a.get(key), b.get(key)) != (one.seed, other.seed)
            )
        ]

    groups: list[list[Cell]] = []
    for run in runs:
        alike = (g for g in groups if g[0].task == run.task and not differing(g[0], run))
        group = next(alike, [])
        if any(one.seed == run.seed for one in group):
            raise ConfigurationError(
                f"{run.directory} and another one are the same strategy and seed: leave one out"
            )
        group.append(run)
        groups += [group] if len(group) == 1 else []
    named = []
    for group in groups:
        one = group[0]
        others = [g[0] for g in groups if (g[0].task, g[0].strategy) == (one.task, one.strategy)]
        keys = sorted({key for other in others for key in differing(others[0], other)})
        shown = [f"{k.rpartition('.')[2]}={values[one.directory].get(k)}" for k in keys]
        named += [replace(run, strategy=", ".join([run.strategy, *shown])) for run in group]
    return named


def described_config(directory: Path) -> DictConfig:
    """Describe a finished run without a configuration: task, student, agent and environment.

    `agent.records_per_iteration` is the most records that the agent wrote in one iteration.

    Raises:
        RunDirectoryError: without a summary, or if a file is damaged.
    """
    summary = read_summary(directory)
    identity = read_identity(directory)
    written = [one.n_records + sum(one.dropped.values()) for one in summary.iterations[1:]]
    content: dict[str, Any] = {
        "task": {
            "name": summary.task,
            "instances": identity.get("instances"),
            "pressure": identity.get("pressure"),
        },
        "student": {},
        "predictor": identity.get("predictor", {}),
        "trainer": {},
        "agent": {"name": summary.agent, "records_per_iteration": max(written, default=0)},
        "environment": {
            "id": identity.get("environment"),
            **{
                name: identity.get(name, default)
                for name, default in TeachingOptions().values().items()
            },
        },
        "episode": {"iterations": len(summary.iterations) - 1},
        "seed": summary.seed,
    }
    config: DictConfig = OmegaConf.create(literal(content))
    return config
