"""The budget of a planned study: the smallest difference that it can find, and how long it takes.

Both come from the noise models of its tasks (see `noise`); a task without one is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataenvgym.episodes.texts import minutes, several
from dataenvgym.executors import build_executor
from dataenvgym.seeding import derive_rng
from dataenvgym.studies.noise import Measure, NoiseModel, conditions, read_noise
from dataenvgym.studies.plan import StudyPlan
from dataenvgym.studies.power import detectable_effect
from dataenvgym.studies.racing import simulated_share
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
            budget = _TaskBudget(plan, task.name, model)
            tables.append(budget.table())
            notes += budget.origin()
    if tables:
        notes.append(
            "Holm is counted as if one strategy differs. The differences are on these problems, "
            "whose choice adds the error inst. of a study's tables."
        )
    if plan.race:
        notes.append(_race_note(plan))
    return tables, [*notes, *budget_warnings(plan)]


def _race_note(plan: StudyPlan) -> str:
    k, n = len(plan.grid.strategies), len(plan.grid.seeds)
    equal, ahead = (
        simulated_share([best, *[0.0] * (k - 1)], n, derive_rng(0, "race")) for best in (0.0, 3.0)
    )
    return (
        f"Race of {k} strategies with {n} seeds: {equal:.0%} of the strategies' episodes run if "
        f"all are equal, and {ahead:.0%} if one is ahead by 3 standard deviations of a difference "
        "at a seed (means of 100 simulated races). Times and differences above are those of all "
        "episodes; a race that stops early finds less."
    )


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
        budget = _TaskBudget(plan, task.name, model)
        problems = budget.problems("test_gain")
        least = budget.detectable("test_gain", n, problems)
        if least is not None and least <= wanted:
            continue
        enough = next(
            (more for more in range(n + 1, _MOST_SEEDS + 1)
             if (d := budget.detectable("test_gain", more, problems)) is not None and d <= wanted),
            None,
        )  # fmt: skip
        can = "no difference" if least is None else f"{least:.3f} or more"
        need = f"{enough} seeds" if enough else f"more than {_MOST_SEEDS} seeds"
        found.append(
            f"{where} cannot be shown with this budget: {several(n, 'seed')} and {problems} "
            f"problems find {can} with 80% power; it needs {need}."
        )
    return found


def _no_model(plan: StudyPlan) -> str:
    return (
        f"there is no noise model of it in {plan.noise_dir}; the same command with --fit-noise and "
        "a few seeds, such as seed=range(5), makes one"
    )


class _TaskBudget:
    """The budget of a plan's task with this noise model."""

    def __init__(self, plan: StudyPlan, task: str, model: NoiseModel) -> None:
        self._plan, self._task, self._model = plan, task, model
        self._n_seeds = len(plan.grid.seeds)
        self._comparisons = max(1, len(plan.grid.strategies) - 1)
        self._cells = [c for c in plan.cells if c.task == task and c.seed == plan.grid.seeds[0]]
        self._config = next(c.config for c in self._cells if c.role == "strategy")

    def problems(self, measure: Measure) -> int:
        """The number of problems of this study, or else of the noise model's."""
        planned = self._config.task.get(_SPLITS[measure])
        return int(planned or self._model.variances[measure].problems)

    def detectable(self, measure: Measure, n: int, problems: int) -> float | None:
        """The smallest difference that n seeds find with 80% power; None if none."""
        effect = detectable_effect(n, comparisons=self._comparisons, test=self._test(n))
        return None if effect is None else effect * self._model.variances[measure].sd(problems)

    def table(self) -> Cells:
        """The differences by number of seeds and of problems, and the time."""
        columns = [(measure, self.problems(measure) * factor)
                   for measure in self._model.variances for factor in (1, 4)]  # fmt: skip
        names = [f"{'test gain' if m == 'test_gain' else m} (n={p})" for m, p in columns]
        rows = []
        for n in sorted({self._n_seeds, 5, 10, 20, 40}):
            found = [self.detectable(measure, n, problems) for measure, problems in columns]
            rows.append((
                f"{n} (this study)" if n == self._n_seeds else str(n),
                *("none" if d is None else number(d) for d in found),
                minutes(self._seconds(n)),
            ))  # fmt: skip
        title = "smallest difference found with 80% power, by number of seeds and problems (n)"
        return Cells(f"{self._task}: {title}", ("seeds", *names, "time"), tuple(rows))

    def origin(self) -> Iterator[str]:
        """Notes: the test, the study that the noise is from, and in what this one differs."""
        model = self._model
        is_exact = self._test(self._n_seeds) == "sign_flip"
        yield (
            f"{self._task}: {'exact sign-flip test' if is_exact else 'paired t test'}, Holm for "
            f"{several(self._comparisons, 'comparison')}. Noise from "
            f"{several(model.seeds, 'seed')} of {', '.join(model.strategies)}: the true "
            f"differences may be {model.factor(0.975):.1f} to {model.factor(0.025):.1f} times as "
            "large."
        )
        there = model.conditions
        changed = [f"{k} {there.get(k)} there, {v} here"
                   for k, v in conditions(self._config).items() if there.get(k) != v]  # fmt: skip
        if changed:
            yield f"{self._task}: the noise may differ: {'; '.join(changed)}."

    def _test(self, n: int) -> Test:
        return "t" if self._plan.test == "t" else choose_test(n)

    def _seconds(self, n: int) -> float:
        """The time of this task with n seeds; a strategy that was not measured counts as the mean.

        The floor has one run of one iteration, here as in the study that was measured.
        """
        took = self._model.seconds
        mean = sum(took.values()) / len(took)
        before, seconds = int(self._model.conditions["iterations"]), 0.0
        for cell in self._cells:
            share = (int(cell.config.episode.iterations) + 1) / (before + 1)
            if cell.role == "floor":
                seconds += took.get(cell.strategy, mean * share)
            else:
                seconds += took.get(cell.strategy, mean) * share * n
        executor = build_executor(self._plan.cells[0].config)
        return seconds / (getattr(executor, "workers", None) or 1)
