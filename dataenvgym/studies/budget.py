"""The budget of a planned study: the smallest difference that it can find, and how long it takes.

Both come from the noise models of its tasks (see `noise`); a task without one is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataenvgym.episodes.texts import minutes, several
from dataenvgym.executors import build_executor
from dataenvgym.studies.noise import Measure, NoiseModel, conditions, read_noise
from dataenvgym.studies.plan import Cell, StudyPlan
from dataenvgym.studies.statistics import Test, choose_test
from dataenvgym.studies.tables import Cells, number

_SPLITS: dict[Measure, str] = {"test_gain": "n_test", "area": "n_validation"}
_MOST_SEEDS = 100


def plan_report(plan: StudyPlan) -> tuple[list[Cells], list[str]]:
    """A table for each task with a noise model, and notes."""
    tables, notes = [], []
    for task in plan.grid.tasks:
        if (model := read_noise(task.name, plan.noise_dir)) is None:
            notes.append(f"{task.name}: {_no_model(plan)}")
        else:
            tables.append(_table(plan, model, task.name))
            notes += _origin(plan, model, task.name)
    if tables:
        notes.append(
            "Holm is counted as if one strategy differs. The differences are on these problems, "
            "whose choice adds the error inst. of a study's tables."
        )
    return tables, [*notes, *budget_warnings(plan)]


def budget_warnings(plan: StudyPlan) -> list[str]:
    """For each task, why the difference that the study looks for cannot be shown, if so."""
    if (wanted := plan.looking_for) is None:
        return []
    found = []
    n = len(plan.grid.seeds)
    for task in plan.grid.tasks:
        where = f"{task.name}: a difference of {wanted:g} in test gain"
        model = read_noise(task.name, plan.noise_dir)
        if model is None or "test_gain" not in model.variances:
            found.append(f"{where}: it is not known whether this budget can show it: "
                         f"{_no_model(plan)}")  # fmt: skip
            continue
        problems = _problems(plan, model, task.name, "test_gain")
        least = _detectable(plan, model, "test_gain", n, problems)
        if least is not None and least <= wanted:
            continue
        enough = next(
            (more for more in range(n + 1, _MOST_SEEDS + 1)
             if (d := _detectable(plan, model, "test_gain", more, problems)) is not None
             and d <= wanted),
            None,
        )  # fmt: skip
        can = "no difference" if least is None else f"{least:.3f} or more"
        need = f"{enough} seeds" if enough else f"more than {_MOST_SEEDS} seeds"
        found.append(
            f"{where} cannot be shown with this budget: {several(n, 'seed')} and {problems} "
            f"problems find {can} with 80% power; it needs {need}."
        )
    return found


def _table(plan: StudyPlan, model: NoiseModel, task: str) -> Cells:
    own = len(plan.grid.seeds)
    columns = [(measure, _problems(plan, model, task, measure) * factor)
               for measure in model.variances for factor in (1, 4)]  # fmt: skip
    names = [f"{'test gain' if m == 'test_gain' else m} (n={p})" for m, p in columns]
    rows = []
    for n in sorted({own, 5, 10, 20, 40}):
        found = [_detectable(plan, model, measure, n, problems) for measure, problems in columns]
        rows.append((
            f"{n} (this study)" if n == own else str(n),
            *("none" if d is None else number(d) for d in found),
            minutes(_seconds(plan, model, task, n)),
        ))  # fmt: skip
    title = f"{task}: smallest difference found with 80% power, by number of seeds and problems (n)"
    return Cells(title, ("seeds", *names, "time"), tuple(rows))


def _origin(plan: StudyPlan, model: NoiseModel, task: str) -> Iterator[str]:
    n, m = len(plan.grid.seeds), _comparisons(plan)
    test = "exact sign-flip test" if _test(plan, n) == "sign_flip" else "paired t test"
    yield (
        f"{task}: {test}, Holm for {several(m, 'comparison')}. Noise from "
        f"{several(model.seeds, 'seed')} of {', '.join(model.strategies)}: the true differences "
        f"may be {model.factor(0.975):.1f} to {model.factor(0.025):.1f} times as large."
    )
    own = conditions(_cells(plan, task)[0].config)
    there = model.conditions
    changed = [f"{k} {there.get(k)} there, {v} here" for k, v in own.items() if there.get(k) != v]
    if changed:
        yield f"{task}: the noise may differ: {'; '.join(changed)}."


def _no_model(plan: StudyPlan) -> str:
    return (
        f"there is no noise model of it in {plan.noise_dir}; the same command with --fit-noise and "
        "a few seeds, such as seed=range(5), makes one"
    )


def _detectable(
    plan: StudyPlan, model: NoiseModel, measure: Measure, n: int, problems: int
) -> float | None:
    test = _test(plan, n)
    return model.detectable(measure, n, problems, comparisons=_comparisons(plan), test=test)


def _test(plan: StudyPlan, n: int) -> Test:
    return plan.test if plan.test == "t" else choose_test(n)


def _comparisons(plan: StudyPlan) -> int:
    return max(1, len(plan.grid.strategies) - 1)


def _problems(plan: StudyPlan, model: NoiseModel, task: str, measure: Measure) -> int:
    """The number of problems of this study, or else of the noise model's."""
    planned = _cells(plan, task)[0].config.task.get(_SPLITS[measure])
    return int(planned or model.variances[measure].problems)


def _cells(plan: StudyPlan, task: str) -> list[Cell]:
    return [cell for cell in plan.of_strategies() if cell.task == task]


def _seconds(plan: StudyPlan, model: NoiseModel, task: str, n: int) -> float:
    """The time of this task with n seeds; a strategy that was not measured counts as the mean."""
    mean = sum(model.seconds.values()) / len(model.seconds)
    before, seconds = int(model.conditions["iterations"]), 0.0
    for cell in plan.cells:
        if cell.task == task and cell.seed == plan.grid.seeds[0]:
            share = (int(cell.config.episode.iterations) + 1) / (before + 1)
            took = model.seconds.get(cell.strategy, mean) * share
            seconds += took if cell.role == "floor" else took * n
    return seconds / (getattr(build_executor(plan.cells[0].config), "workers", None) or 1)
