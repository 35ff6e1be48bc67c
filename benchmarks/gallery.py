"""Draw a gallery of a suite's strategies: how each one learns, task by task.

    python -m benchmarks.gallery studies/NAME FILE.png

A panel for each strategy: the gain in validation score by iteration, divided by the gain of gold
data (0: the base student, 1: gold data), mean over seeds; a thin line for each task and a thick one
for their mean. Below: performance profiles and interquartile means, as in the study's `curves.png`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dataenvgym.runs.plots import COLORS, default_settings, png_of
from dataenvgym.storage import read_json, write_bytes
from dataenvgym.studies.plots import draw_suite, styles_of
from dataenvgym.studies.results import StudyResults, TaskResult


def learned(task: TaskResult, name: str, scale: float) -> np.ndarray:
    """The mean gain in validation score after each iteration, in units of `scale`."""
    runs = [run for one in task.strategies if one.name == name for run in one.seeds]
    longest = max(len(run.val_scores) for run in runs)
    curves = [
        [*run.val_scores, *[run.val_scores[-1]] * (longest - len(run.val_scores))] for run in runs
    ]
    scores = np.array(curves, dtype=float)
    return (scores - scores[:, :1]).mean(axis=0) / scale


def draw_gallery(results: StudyResults, file: Path) -> None:
    """Draw the strategies of a suite with ceilings to `file` (PNG)."""
    from matplotlib.figure import Figure

    ceilings = {
        task.task: one.measures["area"].mean
        for task in results.tasks
        for one in task.strategies
        if one.role == "ceiling"
    }
    suite = results.suite
    if suite is None:
        raise SystemExit(f"{results.name} has no score of a suite: it needs tasks with ceilings")
    names = [one.strategy for one in sorted(suite.overall, key=lambda s: -s.iqm.value)]
    tasks = [task for task in results.tasks if (ceilings.get(task.task) or 0) > 0]
    with default_settings():
        figure = Figure(figsize=(12.5, 11.5), dpi=110, layout="constrained")
        grid = figure.add_gridspec(3, 1)
        panels = figure.add_subfigure(grid[:2]).subplots(
            2, -(-len(names) // 2), sharex=True, sharey=True, squeeze=False
        )
        lines = []
        for panel, name in zip(panels.flat, names, strict=False):
            curves = [learned(task, name, ceilings[task.task] or 1.0) for task in tasks]
            lines = [
                panel.plot(curve, color=COLORS[i % 8], ls="-" if i < 8 else "--", lw=1)[0]
                for i, curve in enumerate(curves)
            ]
            panel.plot(np.mean(curves, axis=0), color="black", lw=2.5)
            panel.axhline(0, color="#374151", lw=0.8, ls="--")
            panel.axhline(1, color="#374151", lw=0.8, ls=":")
            panel.set_title(name)
            panel.set_xticks(range(len(curves[0])))
        panels[1][0].set_xlabel("iteration")
        panels[0][0].set_ylabel("gain, 1: gold data")
        panels[0][0].set_ylim(-1.6, 1.4)
        labels = [task.task.rpartition("/")[2] for task in tasks]
        panels[-1][-1].legend(lines, labels, fontsize=7, ncols=2, loc="lower right")
        below = figure.add_subfigure(grid[2]).subplots(1, 2, width_ratios=[1.25, 1.0])
        styles = {k: v for task in reversed(results.tasks) for k, v in styles_of(task).items()}
        draw_suite(below[0], below[1], suite, styles)
        write_bytes(file, png_of(figure))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, help="the folder of a finished study of a suite")
    parser.add_argument("file", type=Path, help="the PNG to write")
    given = parser.parse_args()
    draw_gallery(StudyResults.model_validate(read_json(given.study / "results.json")), given.file)
