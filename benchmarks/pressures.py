"""Measure the tasks of docs/strategies.md: does the policy that fits a pressure gain more?

    python -m benchmarks.pressures                         all tasks, seeds 1, 2 and 3
    python -m benchmarks.pressures traps drift --seeds 1   some of them
    python -m benchmarks.pressures --folder FOLDER --no-ceiling

For each task two studies, with 3 iterations of 100 records: the policy that fits against one that
ignores the pressure, and gold data (one seed). They are in `benchmarks/results/pressures`, and
resume after an interruption. Writes `pressures.md` and `pressures.png` beside them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.common import RESULTS
from dataenvgym import run_study
from dataenvgym.environments import IterationFiles
from dataenvgym.storage import write_bytes, write_text
from dataenvgym.studies.results import StrategyResult, TaskResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAIRS: Mapping[str, tuple[str, str]] = {
    "scarce": ("agent=skill_list", "agent=random"),
    "traps": ("agent=edge", "agent=skill_list"),
    "prerequisites": ("agent=edge", "agent=skill_list"),
    "interference": ("agent=skill_list", "agent=random"),
    "skewed": ("agent=open_ended", "agent=skill_list"),
    "noisy_teacher": ("agent=skill_list quality=wrong_answer", "agent=skill_list"),
    "hidden": ("agent=open_ended", "agent=skill_list"),
    "priced": (
        "agent=skill_list",
        "agent=skill_list agent.policy.choose=highest_error agent.policy.skills=3",
    ),
    "drift": ("agent=skill_list", "agent=open_ended"),
    "plateau": ("agent=skill_list agent.policy.sharpness=0", "agent=skill_list"),
}
"""For each task, the options of the policy that fits and of the one that ignores the pressure."""
SETTING = (
    "episode.iterations=3",
    "agent.records_per_iteration=100",
    "predictor.threads=1",
    "executor=in_process",
)
FITS, IGNORES = "fits", "ignores"
GOLD = "gold"


@dataclass(frozen=True)
class Measured:
    """A task: its results, those of gold data (None if not run), and the base student by skill."""

    name: str
    result: TaskResult
    gold: StrategyResult | None
    base: Mapping[str, float | None]

    def of(self, name: str) -> StrategyResult:
        """The results of `FITS` or `IGNORES`."""
        return next(one for one in self.result.strategies if one.name == name)


def measure(name: str, seeds: Sequence[int], folder: Path, *, ceiling: bool) -> Measured:
    """Run or resume the studies of a task."""

    def study(kind: str, strategies: Mapping[str, str], seeds: Sequence[int]) -> TaskResult:
        return run_study(
            [f"task=teach/{name}", *SETTING, f"seed={','.join(map(str, seeds))}"],
            name=f"{name}-{kind}",
            strategies=[f"{label}: {options}" for label, options in strategies.items()],
            baseline=next(iter(strategies)),
            bounds=False,
            allow_unequal=["records"] if kind == GOLD else [],  # it has no record budget
            studies_dir=str(folder),
        ).tasks[0]

    fits, ignores = PAIRS[name]
    result = study("policies", {IGNORES: ignores, FITS: fits}, seeds)
    gold = study(GOLD, {GOLD: "agent=gold"}, seeds[:1]).strategies[0] if ceiling else None
    run = next(folder.glob(f"{name}-policies/**/{result.strategies[0].seeds[0].run}"))
    report = IterationFiles(run / "iterations", 0).read_result().report
    return Measured(name, result, gold, {skill.skill: skill.score for skill in report.skills})


COLUMNS = (
    *("task", "base", "gold", "headroom", "skills", "policy", "gain in test score, by seed"),
    *("mean", "seeds", "problems", "area"),
)


def rows(one: Measured) -> list[list[str]]:
    """The rows of a task in the table: one for each policy."""
    floor = one.result.floor
    assert floor is not None
    assert floor.test_score is not None
    gold = one.gold.measures["test_gain"].mean if one.gold else None
    known = [score for score in one.base.values() if score is not None]
    kinds = (sum(s < 0.05 for s in known), sum(s > 0.95 for s in known))
    found = []
    for i, label in enumerate((FITS, IGNORES)):
        strategy = one.of(label)
        gains = [seed.test_gain for seed in strategy.seeds if seed.test_gain is not None]
        spread = statistics.stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else None
        first = [
            f"`{one.name}`",
            _number(floor.test_score),
            _number(None if gold is None else floor.test_score + gold),
            _number(gold, "+"),
            f"{kinds[0]} / {len(known) - sum(kinds)} / {kinds[1]}",
        ]
        mean = _number(statistics.mean(gains), "+")
        found.append(
            [
                *(first if i == 0 else [""] * len(first)),
                f"{label}: `{PAIRS[one.name][i]}`",
                ", ".join(_number(gain, "+") for gain in gains),
                f"**{mean}**" if i == 0 else mean,
                _number(spread),
                _number(strategy.instance_errors["test_gain"]),
                _number(strategy.measures["area"].mean, "+"),
            ]
        )
    return found


def page(measured: Sequence[Measured], seeds: Sequence[int]) -> str:
    """The tables, as Markdown."""
    lines = [
        f"3 iterations of 100 records, seeds {', '.join(map(str, seeds))}. Base: the test score of "
        "the untouched student (no teaching gains 0). Gold: the test score after all training "
        "problems at once, with one seed. Skills: how many the base scores below .05 / between / "
        "above .95 in. Seeds and problems: the standard errors of the mean gain.",
        "",
        _line(COLUMNS),
        _line(["---"] * len(COLUMNS)),
        *(_line(row) for one in measured for row in rows(one)),
        "",
        "The base student by skill, on the validation problems:",
        "",
    ]
    for one in measured:
        scores = (f"{skill} {_number(score)}" for skill, score in one.base.items())
        lines.append(f"- `{one.name}`: {', '.join(scores)}")
    return "\n".join([*lines, ""])


def draw(measured: Sequence[Measured], path: Path) -> None:
    """Draw the validation curves of both policies, a panel for each task."""
    from matplotlib.figure import Figure

    from dataenvgym.runs.plots import default_settings, png_of

    n_columns = min(5, len(measured))
    n_rows = -(-len(measured) // n_columns)
    with default_settings():
        size = (1 + 2.9 * n_columns, 0.7 + 2.6 * n_rows)
        figure = Figure(figsize=size, dpi=130, layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False)
        for axis in axes.flat[len(measured) :]:
            axis.set_axis_off()
        for axis, one in zip(axes.flat, measured, strict=False):
            _draw_task(axis, one)
        n_legend = 4 if n_columns > 3 else 1
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=n_legend, frameon=False)
        figure.supylabel("validation score", fontsize=10)
    write_bytes(path, png_of(figure))


def _draw_task(axis: Axes, one: Measured) -> None:
    for i, (label, color) in enumerate(((FITS, "#0072B2"), (IGNORES, "#D55E00"))):
        curves = [seed.val_scores for seed in one.of(label).seeds]
        for curve in curves:
            axis.plot(curve, color=color, linewidth=0.7, alpha=0.45)
        mean = [statistics.mean(scores) for scores in zip(*curves, strict=True)]
        name = "the policy that fits" if label == FITS else "one that ignores the pressure"
        axis.plot(mean, color=color, linewidth=2.2, marker="o", markersize=4, label=name)
        shown = PAIRS[one.name][i].replace("agent.policy.", "").replace("agent=", "")
        axis.text(0, 1.11 - 0.085 * i, shown, transform=axis.transAxes, fontsize=7.5, color=color)
    first = one.of(FITS).seeds[0].val_scores[0]
    axis.axhline(first, color="#374151", linewidth=1, linestyle=(0, (5, 3)), label="no teaching")
    if one.gold is not None:
        best = max(one.gold.seeds[0].val_scores)
        axis.axhline(best, color="#374151", linewidth=1.4, linestyle=":", label="gold data")
    axis.set_title(one.name, fontsize=11, loc="left", fontweight="bold", pad=30)
    axis.set_xlabel("iteration", fontsize=9)
    axis.set_xticks(range(4))
    axis.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axis.spines[["top", "right"]].set_visible(False)


def _number(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.3f}".replace("0.", ".", 1)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(PAIRS)}")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--folder", type=Path, default=RESULTS / "pressures")
    parser.add_argument("--no-ceiling", action="store_true", help="leave gold data out")
    options = parser.parse_args(argv)
    if unknown := sorted({*options.tasks} - {*PAIRS}):
        parser.error(f"there is no task {unknown[0]!r}, expected some of {', '.join(PAIRS)}")
    seeds = [int(seed) for seed in options.seeds.split(",")]
    measured = []
    for name in options.tasks or PAIRS:
        one = measure(name, seeds, options.folder, ceiling=not options.no_ceiling)
        measured.append(one)
        print("\n".join(_line(row) for row in rows(one)), flush=True)
    write_text(options.folder / "pressures.md", page(measured, seeds))
    draw(measured, options.folder / "pressures.png")
    print(f"wrote {options.folder}/pressures.md and pressures.png")


if __name__ == "__main__":
    main()
