"""Refuses a study that is impossible or unfair, or that would lose earlier results.

All strategies must have the same base student, evaluation instances, trainer, number of iterations
and record budget. The validation split chooses an iteration, and only that one is scored on the
test split. Any other difference is a `Difference`, which is refused unless its key is allowed: the
configurations are compared before the runs, the results after them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig

from dataenvgym.config.identity import decisive_values
from dataenvgym.config.run_directory import check_run
from dataenvgym.episodes.summary import read_summary
from dataenvgym.episodes.texts import several
from dataenvgym.errors import ConfigurationError, DataEnvGymError, did_you_mean
from dataenvgym.executors import build_executor
from dataenvgym.executors.interface import build_episode
from dataenvgym.studies.measures import RunMeasures
from dataenvgym.studies.plan import Cell, StudyPlan
from dataenvgym.studies.state import Role, read_state

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
        shown = "; ".join(f"{value} ({', '.join(who)})" for value, who in groups.items())
        return f"{self.key}: {shown}"


def config_differences(members: Iterable[tuple[Role, str, int, DictConfig]]) -> list[Difference]:
    """Find unfair differences between the configurations on one task, seed by seed.

    Args:
        members: role, name, seed and configuration of each run. Neither the record budget nor the
            pressure on records is that of the ceiling; floors are not compared.
    """
    by_seed: dict[int, list[tuple[Role, str, DictConfig]]] = {}
    for role, name, seed, config in members:
        by_seed.setdefault(seed, []).append((role, name, config))
    found: list[Difference] = []
    for of_seed in by_seed.values():
        taught = {name: config for role, name, config in of_seed if role == "strategy"}
        found += _unequal(taught, budget=True)
        both = {name: config for role, name, config in of_seed if role != "floor"}
        found += _unequal(both, budget=False)
    return found


def _unequal(configs: Mapping[str, DictConfig], *, budget: bool) -> list[Difference]:
    values = {name: _compared(config, budget) for name, config in configs.items()}
    keys = sorted({key for one in values.values() for key in one})
    found = [d for key in keys if (d := _difference(key, values)) is not None]
    budgets = {name: one.get(RECORDS) for name, one in values.items()}
    if _UNBOUNDED in budgets.values() and not any(d.key == RECORDS for d in found):
        found.append(Difference(RECORDS, budgets))  # two unlimited budgets are not equal
    return found


def result_differences(runs: Mapping[str, RunMeasures]) -> list[Difference]:
    """Find differences in student and instances between finished runs of one task and seed."""
    values = {name: run.identity for name, run in runs.items()}
    return [d for key in RESULT_SECTIONS if (d := _difference(key, values)) is not None]


def over_budget(runs: Mapping[str, RunMeasures], budgets: Mapping[str, float]) -> list[Difference]:
    """Find runs that trained on more records than their budget."""
    over = {
        name: f"{run.result.records} of {budgets[name]:g}"
        for name, run in runs.items()
        if run.result.records > budgets.get(name, math.inf)
    }
    return [Difference(RECORDS, over)] if over else []


def record_budget(config: DictConfig) -> float:
    """The most records that an episode trains on; infinite if there is no limit."""
    each = config.agent.get("records_per_iteration")
    most = config.environment.get("max_records")
    planned = math.inf if each is None else float(each) * int(config.episode.iterations)
    return min(planned, math.inf if most is None else float(most))


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
    refused = [d for d in found.values() if not any(_covers(key, d.key) for key in allow)]
    if refused:
        sections = Counter(d.key.partition(".")[0] for d in refused)
        fewest: list[str] = []  # sections where possible
        for d in refused:
            section = d.key.partition(".")[0]
            several_of_it = section in EQUAL_SECTIONS and sections[section] > 1
            if not any(_covers(key, d.key) for key in fewest):
                fewest.append(section if several_of_it else d.key)
        keys = " ".join(f"--allow-unequal {key}" for key in fewest)
        lines = "\n".join(f"  {d}" for d in refused[:8])
        if more := refused[8:]:
            lines += f"\n  and in {len(more)} more: {', '.join(d.key for d in more)}"
        raise ConfigurationError(
            f"the comparison would not be fair; the strategies differ in\n{lines}\n"
            f"Make these equal, or accept it, and the table will say so: {keys}"
        )
    return list(found.values())


def check_allowed_keys(allow: Sequence[str], configs: Iterable[DictConfig]) -> None:
    """Refuse a key of `--allow-unequal` that is not compared."""
    if not allow:
        return
    known = {*EQUAL_SECTIONS, *RESULT_SECTIONS}
    for config in configs:
        known |= set(_compared(config, True))
    for key in allow:
        if key not in known:
            raise ConfigurationError(
                f"--allow-unequal is {key!r}, which is not compared."
                f"{did_you_mean(key, known)} Sections are: {', '.join(EQUAL_SECTIONS)}; the "
                f"record budget is {RECORDS!r}."
            )


def _compared(config: DictConfig, budget: bool) -> dict[str, Any]:
    values = {
        key: value
        for key, value in decisive_values(config).items()
        if key.partition(".")[0] in EQUAL_SECTIONS or key in EQUAL_KEYS
    }
    values["episode.iterations"] = int(config.episode.iterations)
    values.setdefault("environment.target_score", None)
    if not budget:
        values.pop("task.pressure_on_records", None)
    else:
        most = record_budget(config)
        values[RECORDS] = _UNBOUNDED if math.isinf(most) else int(most)
    return values


def _difference(key: str, values: Mapping[str, Mapping[str, Any]]) -> Difference | None:
    found = {name: one.get(key) for name, one in values.items()}
    first = next(iter(found.values()), None)
    return None if all(value == first for value in found.values()) else Difference(key, found)


def _covers(allowed_key: str, key: str) -> bool:
    section = allowed_key.partition(".")[0]
    return (
        key == allowed_key
        or key.startswith(f"{allowed_key}.")
        or section in RESULT_SECTIONS.get(key, ())
    )


def check_study(plan: StudyPlan) -> list[Difference]:
    """Check a study, and return the allowed differences between strategies; touch no file.

    Raises:
        ConfigurationError: names the impossible strategy, the differences between strategies, or
            earlier episodes that the study would lose.
        ConfigChangedError: if a run has done more iterations than this study requests.
        NewerFormatError: if a newer dataenvgym wrote the study or one of its runs.
    """
    _refuse_less(plan)
    build_executor(plan.cells[0].config)
    check_allowed_keys(plan.allow_unequal, [cell.config for cell in plan.cells])
    differences = [
        difference
        for task in plan.grid.tasks
        for difference in config_differences(
            (c.role, "ceiling" if c.role == "ceiling" else c.strategy, c.seed, c.config)
            for c in plan.cells
            if c.task == task.name
        )
    ]
    allowed(differences, plan.allow_unequal)
    tried: set[tuple[str, str, str]] = set()
    for cell in plan.cells:
        check_run(cell.config)
        kind = (cell.role, cell.strategy, cell.task)
        if kind not in tried and not cell.is_finished:
            tried.add(kind)
            try:
                build_episode(cell.config, cell.directory)[0].close()
            except DataEnvGymError as error:
                raise ConfigurationError(
                    f"{cell.strategy} on {cell.task} cannot run: {error}"
                ) from error
    return differences


def has_result(cell: Cell) -> bool:
    """True if the episode is finished and has a result; a ceiling without records has none."""
    if not cell.is_finished:
        return False
    return cell.role != "ceiling" or read_summary(cell.directory).iterations[-1].n_records_total > 0


def _refuse_less(plan: StudyPlan) -> None:
    """Refuse a study without some of its earlier episodes: its tables would lose them."""
    state = read_state(plan.directory)
    runs = {cell.directory.name for cell in plan.cells}
    before = [e for e in state.episodes if e.role == "strategy"] if state else []
    if lost := [e for e in before if e.run not in runs]:
        names = ", ".join(f"{e.strategy} (seed {e.seed})" for e in lost[:3])
        names += f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        raise ConfigurationError(
            f"the study {plan.name!r} has {several(len(before), 'episode')}. These are "
            f"missing from this command: {names}. Ask for them too, with the same options "
            "(study.json has the command), choose another --name, or remove "
            f"{plan.directory}"
        )
