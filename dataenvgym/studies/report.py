"""Writes the files of a study: `results.json`, `table.md`, `curves.png` and `study.md`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dataenvgym.episodes.texts import cell, change, markdown_table, score
from dataenvgym.storage import write_json, write_text
from dataenvgym.studies.plots import draw_study
from dataenvgym.studies.results import StudyResults
from dataenvgym.studies.tables import markdown


def write_results(results: StudyResults, directory: Path) -> None:
    """Write all of them into `directory`; without a finished run, no plot."""
    write_json(directory / "results.json", results.model_dump(mode="json"))
    write_text(directory / "table.md", markdown(results))
    has_runs = any(one.seeds for task in results.tasks for one in task.strategies)
    if has_runs:
        draw_study(results, directory / "curves.png")
    write_text(directory / "study.md", "\n".join(_lines(results, has_runs)) + "\n")


def _lines(results: StudyResults, has_runs: bool) -> Iterator[str]:
    yield f"# {cell(results.name)}"
    yield ""
    if has_runs:
        yield "![Learning curves and test gains, with 95% intervals](curves.png)"
        yield ""
    yield markdown(results)
    for task in results.tasks:
        yield f"## {cell(task.task)}: every run"
        yield ""
        names = ("strategy", "seed", "validation", "best iteration", "gain", "test", "gain", "area",
                 "records", "seconds", "run")  # fmt: skip
        yield from markdown_table(names, (
            (
                one.name,
                run.seed,
                f"{run.val_scores[0]:.3f} -> {run.val_scores[run.best_iteration]:.3f}",
                run.best_iteration,
                change(run.val_gain),
                f"{score(run.test_before)} -> {score(run.test_after)}",
                change(run.test_gain),
                change(run.area),
                run.records,
                f"{run.seconds:.0f}",
                run.run,
            )
            for one in task.strategies
            for run in one.seeds
        ))  # fmt: skip
        yield ""
