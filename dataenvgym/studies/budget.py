"""The budget of a planned study: the smallest difference that it can find, and how long it takes.

Both come from the noise models of its tasks (see `noise`). On a task, strategies are compared with
the baseline; in the score of a suite, all pairs of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from omegaconf import DictConfig

from dataenvgym.runs.documents import Document, Line, Table
from dataenvgym.runs.texts import minutes, score, several
from dataenvgym.seeding import derive_rng
from dataenvgym.studies.executors.interface import build_executor
from dataenvgym.studies.noise import Measure, NoiseModel, read_noise, suite_sd
from dataenvgym.studies.plan import StudyPlan
from dataenvgym.studies.racing import simulated_share
from dataenvgym.studies.statistics import choose_test, detectable_effect

_MOST_SEEDS = 100


class _Budget(NamedTuple):
    """What a plan can find in one measure; `sd` is of a difference at a seed."""

    plan: StudyPlan
    by: str
    sd: float
    comparisons: int

    def least(self, n: int) -> float | None:
        """The smallest difference that n seeds find with 80% power; None if none."""
        test = "t" if self.plan.test == "t" else choose_test(n)
        effect = detectable_effect(n, comparisons=self.comparisons, test=test)
        return None if effect is None else effect * self.sd


def _on_task(
    plan: StudyPlan, model: NoiseModel, measure: Measure = "test_gain", times: int = 1
) -> _Budget:
    problems = model.variances[measure].problems_of(_config(plan, model.task), measure) * times
    comparisons = max(1, len(plan.grid.strategies) - 1)
    sd = model.variances[measure].sd(problems)
    return _Budget(plan, f"{problems} problems", sd, comparisons)


def _config(plan: StudyPlan, task: str) -> DictConfig:
    return next(cell.config for cell in plan.of_strategies() if cell.task == task)


def _budgets(plan: StudyPlan) -> dict[str, _Budget | str]:
    """What the study looks for: a difference in its suite's score, or in test gain on each task.

    If the noise is not known, a text says what is missing.
    """
    models = {task.name: read_noise(task.name, plan.noise_dir) for task in plan.grid.tasks}
    has_score = plan.has_suite_score
    known = {
        task: model
        for task, model in models.items()
        if model
        and ("area" in model.variances and (model.ceiling or 0.0) > 0
             if has_score else "test_gain" in model.variances)
    }  # fmt: skip
    of = f" with a ceiling of {', '.join(t for t in models if t not in known)}" * has_score
    unknown = (
        f"there is no noise model{of or ' of it'} in {plan.noise_dir}; the same command with "
        "--fit-noise and a few seeds, such as seed=range(5), makes one"
    )
    if not has_score:
        return {
            f"{task}: a difference of {{:g}} in test gain": _on_task(plan, known[task])
            if task in known
            else unknown
            for task in models
        }
    where = "suite: a difference of {:g} in its score"
    if len(known) < len(models):
        return {where: unknown}
    problems = [m.variances["area"].problems_of(_config(plan, t), "area") for t, m in known.items()]
    sd, pairs = suite_sd([*known.values()], problems), math.comb(len(plan.grid.strategies), 2)
    return {where: _Budget(plan, "", sd or 0.0, max(1, pairs))}


def budget_warnings(plan: StudyPlan) -> list[str]:
    """Why the study cannot show the difference that it looks for, on a task or in its score."""
    if (wanted := plan.looking_for) is None:
        return []
    n, found = len(plan.grid.seeds), []
    for what, budget in _budgets(plan).items():
        where = what.format(wanted)
        if isinstance(budget, str):
            found.append(f"{where}: it is not known whether this budget can show it: {budget}")
            continue
        finds = {more: budget.least(more) for more in range(n, _MOST_SEEDS + 1)}
        enough = [more for more, d in finds.items() if d is not None and d <= wanted]
        if n not in enough:
            least = f"{finds[n]:.3f} or more" if finds.get(n) else "no difference"
            by = f" and {budget.by}" if budget.by else ""
            found.append(
                f"{where} cannot be shown with this budget: {several(n, 'seed')}{by} find "
                f"{least} with 80% power; it needs "
                f"{enough[0] if enough else f'more than {_MOST_SEEDS}'} seeds."
            )
    return found


def budget_notes(plan: StudyPlan) -> list[str]:
    """The smallest differences that the study can find; nothing if it looks for one."""
    n = len(plan.grid.seeds)
    found = [
        where.format(round(least, 3))
        for where, budget in _budgets(plan).items()
        if isinstance(budget, _Budget) and (least := budget.least(n))
    ]
    if plan.looking_for is not None or not found or len(plan.grid.strategies) < 2:
        return []
    return [f"{several(n, 'seed')} find with 80% power, by the noise models: {'; '.join(found)}."]


def plan_report(plan: StudyPlan) -> Document:
    """A table for each task with a noise model and for the suite's score, and notes."""
    notes: list[str] = []
    for task in plan.grid.tasks:
        if (model := read_noise(task.name, plan.noise_dir)) is not None:
            yield _task_table(plan, model)
            notes += _origin(plan, model)
    for what, budget in _budgets(plan).items():
        if isinstance(budget, str):
            notes.append(f"{what.partition(':')[0]}: {budget}")
        elif plan.has_suite_score:
            title = f"smallest difference found with 80% power, Holm for {budget.comparisons} pairs"
            rows = [(label, _shown(budget.least(n))) for n, label in _seed_rows(plan)]
            yield Table(("seeds", "score"), rows, f"suite: {title}")
    if plan.race:
        k, n = len(plan.grid.strategies), len(plan.grid.seeds)
        equal, ahead = (
            simulated_share([best, *[0.0] * (k - 1)], n, derive_rng(0, "race"))
            for best in (0.0, 3.0)
        )
        notes.append(
            f"Race of {k} strategies with {n} seeds: {equal:.0%} of the strategies' episodes run "
            f"if all are equal, and {ahead:.0%} if one is ahead by 3 standard deviations of a "
            "difference at a seed. Times and differences above are those of all episodes."
        )
    yield from (Line(note, "note") for note in notes)
    yield from (Line(text, "warning") for text in budget_warnings(plan))


def _shown(least: float | None) -> str:
    return "none" if least is None else score(least)


def _seed_rows(plan: StudyPlan) -> list[tuple[int, str]]:
    own = len(plan.grid.seeds)
    return [(n, f"{n} (this study)" if n == own else str(n)) for n in sorted({own, 5, 10, 20, 40})]


def _task_table(plan: StudyPlan, model: NoiseModel) -> Table:
    """The differences by number of seeds and of problems, and the time.

    A strategy that was not measured takes the mean time. The floor has one run of one iteration,
    here as in the study that was measured.
    """
    columns = [(m, _on_task(plan, model, m, times)) for m in model.variances for times in (1, 4)]
    took, before = model.seconds, int(model.conditions["iterations"])
    mean = sum(took.values()) / len(took)
    once = each = 0.0
    for cell in plan.cells:
        if cell.task == model.task and cell.seed == plan.grid.seeds[0]:
            share = (int(cell.config.episode.iterations) + 1) / (before + 1)
            if cell.role == "floor":
                once += took.get(cell.strategy, mean * share)
            else:
                each += took.get(cell.strategy, mean) * share
    workers = getattr(build_executor(plan.cells[0].config), "workers", None) or 1
    rows = [
        (label, *(_shown(of.least(n)) for _, of in columns),
         minutes((once + each * n) / workers))
        for n, label in _seed_rows(plan)
    ]  # fmt: skip
    names = [f"{m.replace('_', ' ')}, {of.by}" for m, of in columns]
    title = (
        f"{model.task}: smallest difference found with 80% power, by number of seeds and problems"
    )
    return Table(("seeds", *names, "time"), rows, title)


def _origin(plan: StudyPlan, model: NoiseModel) -> Iterator[str]:
    """Notes: the test, the study that the noise is from, and in what this one differs."""
    n, comparisons = len(plan.grid.seeds), max(1, len(plan.grid.strategies) - 1)
    is_exact = plan.test != "t" and choose_test(n) == "sign_flip"
    yield (
        f"{model.task}: {'exact sign-flip test' if is_exact else 'paired t test'}, Holm for "
        f"{several(comparisons, 'comparison')}. Noise from {several(model.seeds, 'seed')} of "
        f"{', '.join(model.strategies)}: the true differences may be {model.factor(0.975):.1f} to "
        f"{model.factor(0.025):.1f} times as large."
    )
    if changed := model.differs(_config(plan, model.task)):
        yield f"{model.task}: the noise may differ: {changed}."
