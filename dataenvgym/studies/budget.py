"""The budget of a planned study: the smallest difference that it can find, and how long it takes.

Both come from the noise models of its tasks (see `noise`); a task without one is named. On a task,
strategies are compared with the baseline; in the score of a suite, all pairs of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from dataenvgym.episodes.texts import minutes, several
from dataenvgym.executors import build_executor
from dataenvgym.seeding import derive_rng
from dataenvgym.studies.noise import Measure, NoiseModel, read_noise, suite_sd
from dataenvgym.studies.plan import StudyPlan
from dataenvgym.studies.racing import simulated_share
from dataenvgym.studies.statistics import Test, choose_test, detectable_effect
from dataenvgym.studies.tables import Cells, number

_MOST_SEEDS = 100


def plan_report(plan: StudyPlan) -> tuple[list[Cells], list[str]]:
    """A table for each task with a noise model and for the suite's score, and notes."""
    tables, notes = [], []
    for task in plan.grid.tasks:
        if (model := read_noise(task.name, plan.noise_dir)) is None:
            notes.append(f"{task.name}: {_no_model(plan)}")
        else:
            budget = _TaskBudget(plan, task.name, model)
            tables.append(budget.table())
            notes += budget.origin()
    suite = _SuiteBudget(plan)
    if suite.sd is not None:
        tables.append(suite.table())
    elif tables and plan.has_suite_score:
        notes.append(f"The suite's score: {suite.unknown}.")
    if tables:
        notes.append(
            "Holm is counted as if one strategy differs. The differences are on these problems; "
            "other problems add to the noise in a study's tables."
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
    """Why the study cannot show the difference that it looks for, on a task or in its score."""
    if (wanted := plan.looking_for) is None:
        return []
    n = len(plan.grid.seeds)
    if plan.has_suite_score:
        suite = _SuiteBudget(plan)
        where = f"suite: a difference of {wanted:g} in its score"
        if suite.sd is None:
            return [f"{where}: it is not known whether this budget can show it: {suite.unknown}"]
        return list(_cannot_show(where, wanted, several(n, "seed"), n, suite.detectable))
    found = []
    for task in plan.grid.tasks:
        where = f"{task.name}: a difference of {wanted:g} in test gain"
        model = read_noise(task.name, plan.noise_dir)
        if model is None or "test_gain" not in model.variances:
            found.append(f"{where}: it is not known whether this budget can show it: "
                         f"{_no_model(plan)}")  # fmt: skip
            continue
        budget = _TaskBudget(plan, task.name, model)
        by = f"{several(n, 'seed')} and {budget.problems('test_gain')} problems"
        found += _cannot_show(where, wanted, by, n, budget.detectable)
    return found


def budget_notes(plan: StudyPlan) -> list[str]:
    """The smallest difference that the study can find; nothing with --looking-for."""
    if plan.looking_for is not None:
        return []
    n, suite, found = len(plan.grid.seeds), _SuiteBudget(plan), {}
    if suite.sd is not None:
        found["the suite's score"] = suite.detectable(n)
    for task in plan.grid.tasks if not found else ():
        model = read_noise(task.name, plan.noise_dir)
        if model is not None and "test_gain" in model.variances:
            budget = _TaskBudget(plan, task.name, model)
            found[f"test gain on {task.name}"] = budget.detectable(n)
    if not found or len(plan.grid.strategies) < 2:
        return []
    shown = ", ".join(f"none in {where}" if d is None else f"{number(d)} or more in {where}"
                      for where, d in found.items())  # fmt: skip
    return [
        f"Differences that {several(n, 'seed')} find with 80% power, by the noise models: {shown}."
    ]


def _cannot_show(
    where: str, wanted: float, by: str, n: int, detectable: Callable[[int], float | None]
) -> Iterator[str]:
    """Say that n seeds cannot show the difference, if so, and how many can."""
    least = detectable(n)
    if least is not None and least <= wanted:
        return
    enough = next(
        (more for more in range(n + 1, _MOST_SEEDS + 1)
         if (d := detectable(more)) is not None and d <= wanted),
        None,
    )  # fmt: skip
    can = "no difference" if least is None else f"{least:.3f} or more"
    need = f"{enough} seeds" if enough else f"more than {_MOST_SEEDS} seeds"
    yield (
        f"{where} cannot be shown with this budget: {by} find {can} with 80% power; it needs "
        f"{need}."
    )


def _no_model(plan: StudyPlan) -> str:
    return (
        f"there is no noise model of it in {plan.noise_dir}; the same command with --fit-noise and "
        "a few seeds, such as seed=range(5), makes one"
    )


def _test(plan: StudyPlan, n: int) -> Test:
    return "t" if plan.test == "t" else choose_test(n)


class _SuiteBudget:
    """The budget of a plan in the score of its suite."""

    def __init__(self, plan: StudyPlan) -> None:
        self._plan = plan
        k = len(plan.grid.strategies)
        self._pairs = max(1, k * (k - 1) // 2)

    @cached_property
    def sd(self) -> float | None:
        """Standard deviation of a difference; None if unknown, and without such a score."""
        plan = self._plan
        models = [read_noise(task.name, plan.noise_dir) for task in plan.grid.tasks]
        known = [model for model in models if model is not None]
        if not plan.has_suite_score or len(known) < len(models):
            return None
        budgets = [_TaskBudget(plan, t.name, m)
                   for t, m in zip(plan.grid.tasks, known, strict=True)]  # fmt: skip
        if not all("area" in model.variances for model in known):
            return None
        return suite_sd(known, [budget.problems("area") for budget in budgets])

    @property
    def unknown(self) -> str:
        """Why it is not known."""
        lacking = [
            task.name
            for task in self._plan.grid.tasks
            if (model := read_noise(task.name, self._plan.noise_dir)) is None
            or "area" not in model.variances
            or (model.ceiling or 0.0) <= 0
        ]
        return (
            f"there is no noise model with a ceiling in {self._plan.noise_dir} of "
            f"{', '.join(lacking)}; the same command with --fit-noise and a few seeds, such as "
            "seed=range(5), makes one"
        )

    def detectable(self, n: int) -> float | None:
        """The smallest difference between two strategies that n seeds find; None if none."""
        effect = detectable_effect(n, comparisons=self._pairs, test=_test(self._plan, n))
        return None if effect is None or self.sd is None else effect * self.sd

    def table(self) -> Cells:
        """The differences by number of seeds."""
        own = len(self._plan.grid.seeds)
        rows = []
        for n in sorted({own, 5, 10, 20, 40}):
            found = self.detectable(n)
            rows.append((f"{n} (this study)" if n == own else str(n),
                         "none" if found is None else number(found)))  # fmt: skip
        title = f"suite: smallest difference found with 80% power, Holm for {self._pairs} pairs"
        return Cells(title, ("seeds", "score"), tuple(rows))


class _TaskBudget:
    """The budget of a plan's task with this noise model."""

    def __init__(self, plan: StudyPlan, task: str, model: NoiseModel) -> None:
        self._plan, self._task, self._model = plan, task, model
        self._n_seeds = len(plan.grid.seeds)
        self._comparisons = max(1, len(plan.grid.strategies) - 1)
        self._cells = [c for c in plan.cells if c.task == task and c.seed == plan.grid.seeds[0]]
        self._config = next(c.config for c in self._cells if c.role == "strategy")

    def problems(self, measure: Measure) -> int:
        """The number of problems of this study."""
        return self._model.variances[measure].problems_of(self._config, measure)

    def detectable(
        self, n: int, measure: Measure = "test_gain", problems: int | None = None
    ) -> float | None:
        """The smallest difference that n seeds find with 80% power; None if none."""
        effect = detectable_effect(n, comparisons=self._comparisons, test=_test(self._plan, n))
        sd = self._model.variances[measure].sd(problems or self.problems(measure))
        return None if effect is None else effect * sd

    def table(self) -> Cells:
        """The differences by number of seeds and of problems, and the time."""
        columns = [(measure, self.problems(measure) * factor)
                   for measure in self._model.variances for factor in (1, 4)]  # fmt: skip
        names = [f"{'test gain' if m == 'test_gain' else m} (n={p})" for m, p in columns]
        rows = []
        for n in sorted({self._n_seeds, 5, 10, 20, 40}):
            found = [self.detectable(n, measure, problems) for measure, problems in columns]
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
        is_exact = _test(self._plan, self._n_seeds) == "sign_flip"
        yield (
            f"{self._task}: {'exact sign-flip test' if is_exact else 'paired t test'}, Holm for "
            f"{several(self._comparisons, 'comparison')}. Noise from "
            f"{several(model.seeds, 'seed')} of {', '.join(model.strategies)}: the true "
            f"differences may be {model.factor(0.975):.1f} to {model.factor(0.025):.1f} times as "
            "large."
        )
        if changed := model.differs(self._config):
            yield f"{self._task}: the noise may differ: {changed}."

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
