"""Writes `report.md` and `curve.png`: the results of a run, for people.

Both use only the run directory. The same run gives the same report, except for its last section,
"Timings".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from dataenvgym.environments import PHASES
from dataenvgym.environments.rendering import forest_rows
from dataenvgym.records import SkillReport
from dataenvgym.runs.episodes.attribution import attribution_lines, print_table, read_attribution
from dataenvgym.runs.episodes.plots import draw_curve
from dataenvgym.runs.episodes.run_files import RunFiles, mean_loss
from dataenvgym.runs.episodes.summary import read_summary, warning_lines
from dataenvgym.runs.episodes.tables import (
    iteration_rows,
    iteration_table,
    outcome,
    print_warnings,
    shares,
)
from dataenvgym.runs.episodes.texts import (
    cell,
    change,
    conversation,
    difference,
    fenced,
    markdown_table,
    one_line,
    plain,
    record,
    score,
)
from dataenvgym.storage import write_text
from dataenvgym.tasks.metrics.estimators import estimate, noise_floor

_SAMPLES = 3
_MOST_GROUPS = 40
"""The most rows of a table of effects."""
_T = TypeVar("_T")


def write_report(run_directory: str | Path) -> Path:
    """Write `report.md` and `curve.png` into the run directory (see `RunFiles`)."""
    run = RunFiles(run_directory)
    categories = {s.skill: s.category for s in run.results[0].report.skills}
    forgetting = [mean_loss(lost) for lost in run.losses]
    draw_curve(
        run.summary, run.directory / "curve.png", categories=categories, forgetting=forgetting
    )
    path = run.directory / "report.md"
    write_text(path, "\n".join(_lines(run)) + "\n")
    return path


def write_missing_report(run_directory: str | Path) -> None:
    """Write the report of a finished run without one, such as a run started from Python."""
    directory = Path(run_directory)
    is_whole = all((directory / name).exists() for name in ("report.md", "curve.png"))
    if not is_whole and read_summary(directory).status == "finished":
        write_report(directory)


def gain_text(
    run_directory: str | Path,
    seed_variance: float | None = None,
    about_seeds: str = "without the spread of seeds",
) -> str | None:
    """The gain in test score with its standard error and noise floor; None without a test split.

    Args:
        seed_variance: of such a gain between seeds, if it is known.
        about_seeds: where it is from.
    """
    run = RunFiles(run_directory)
    found = estimate(run.test_gains())
    gain = difference(run.summary.test_score_after, run.summary.test_score_before)
    if gain is None or found.sd is None:
        return None
    error = found.sd / math.sqrt(found.n)
    floor = noise_floor(error, seed_variance) or 0.0
    text = (
        f"test gain {gain:+.3f} ± {error:.3f} (standard error over {found.n} problems); "
        f"noise floor {floor:.3f} ({about_seeds})"
    )
    is_noise = abs(gain) <= floor
    return plain(text + ": the gain is within the noise floor, so perhaps none" * is_noise)


def render_report(
    run_directory: str | Path,
    console: Console,
    seed_variance: float | None = None,
    about_seeds: str = "without the spread of seeds",
) -> None:
    """Show the short version: the result, the iterations, the skills learned and forgotten.

    Args:
        seed_variance, about_seeds: see `gain_text`.
    """
    run = RunFiles(run_directory)
    console.print(Text(plain(run.summary.title), style="bold"))
    console.print(Text(outcome(run.summary)))
    if text := gain_text(run_directory, seed_variance, about_seeds):
        console.print(Text(text))
    for line in shares(run.summary.problems):
        console.print(Text(line), soft_wrap=True)
    console.print()
    console.print(iteration_table(run.summary))
    learned, forgotten = _learned_and_forgotten(run)
    if len(run.losses) > 1:
        lost = mean_loss(run.losses[-1])
        text = f"forgetting {lost:.3f}: solved by an earlier student, not by the last one"
        console.print(Text(text, style="red" if lost else ""))
    for name, skills, style in (("learned", learned, "green"), ("forgot", forgotten, "red")):
        if skills:
            shown = ", ".join(f"{one_line(s, 30)} {change(by)}" for s, by in skills)
            console.print(Text(f"{name} most: {shown}", style=style))
    for table in read_attribution(run.directory, run.results).tables:
        console.print()
        print_table(table, console)
        console.print()
    print_warnings(run.summary, console)
    for name in ("report.md", "curve.png"):
        if (run.directory / name).exists():
            console.print(Text(plain(str(run.directory / name)), style="dim"), soft_wrap=True)


# --- sections of report.md ---


def _lines(run: RunFiles) -> Iterator[str]:
    """The lines of `report.md`; the timings come last."""
    yield f"# {cell(run.summary.title)}"
    yield ""
    yield f"**{cell(outcome(run.summary))}**"
    yield ""
    if text := gain_text(run.directory):
        yield f"{cell(text[0].upper() + text[1:])}."
        yield ""
    if run.summary.warnings:
        yield "## Warnings"
        yield ""
        yield from (f"- {cell(line)}" for line in warning_lines(run.summary.warnings))
        yield ""
    yield "![Validation score by iteration, overall and by skill](curve.png)"
    sections: dict[str, Callable[[RunFiles], Iterator[str]]] = {
        "Setup": _what_ran,
        "Iterations": _iterations,
        "Skills": _skills,
        f"The forest after iteration {run.best}": _forest,
        "What helped": _what_helped,
        "Some of the training records": _records,
        f"Still wrong after iteration {run.best}": _still_wrong,
        "Timings": _timings,
    }
    for title, write in sections.items():
        if lines := [*write(run)]:
            yield from ("", f"## {title}", "", *lines)


def _what_ran(run: RunFiles) -> Iterator[str]:
    summary = run.summary
    rows: dict[str, object] = {
        "task": summary.task,
        "agent": summary.agent,
        "seed": summary.seed,
        "student": run.student,
        "environment": run.environment.get("environment", "-"),
        "mode": run.environment.get("mode", "-"),
        "status": summary.status,
        "iterations": len(summary.iterations) - 1,
        "validation instances": summary.problems.get("validation", summary.iterations[0].n_val),
        "training records": summary.iterations[-1].n_records_total,
    }
    if "test" in summary.problems:
        rows["test instances"] = summary.problems["test"]
    if (usage := summary.teacher) is not None:
        numbers = {
            "requests": usage.requests,
            "cached": usage.cached,
            "unasked for lack of budget": usage.unasked,
            "failed": usage.failed,
            "unanswered": usage.unanswered,
            "unusable": usage.malformed,
            "tokens": usage.prompt_tokens + usage.completion_tokens,
        }
        cost = "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
        rows["teacher"] = ", ".join([*(f"{n} {name}" for name, n in numbers.items() if n), cost])
    yield from markdown_table(["", ""], rows.items())


def _iterations(run: RunFiles) -> Iterator[str]:
    names, *rows = iteration_rows(run.summary, [mean_loss(lost) for lost in run.losses])
    yield from markdown_table(names, rows)


def _skills(run: RunFiles) -> Iterator[str]:
    pairs = _base_and_best(run)
    if not any(base.skill for base, _ in pairs):
        return
    reports = (run.results[0].report, run.results[run.best].report)
    named = sorted({name for report in reports for s in report.skills for name in s.scores})
    rows = []
    lost: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one in run.completed(run.best):
        if (i := one.instance.id) in run.losses[run.best]:
            lost[one.instance.skill or ""][i] = run.losses[run.best][i]
    has_rate = any(base.no_answer_rate is not None for base, _ in pairs)
    for base, best in pairs:
        after, scores = (best.score, best.scores) if best else (None, {})
        skill = (base.category or "-", base.skill or "(none)")
        both = {name: (score(base.scores.get(name)), score(scores.get(name)))
                for name in named}  # fmt: skip
        gain = change(difference(after, base.score))
        told = (text for name in named for text in both[name])
        loss = score(mean_loss(lost[base.skill]) if run.best else None)
        rates = [score(one.no_answer_rate if one else None) for one in (base, best)] * has_rate
        rows.append((*skill, score(base.score), score(after), gain, *rates, *told, base.n, loss))
    when = ("base", f"iteration {run.best}")
    names = ["category", "skill", *when, "change"]
    named = [*["no answer"] * has_rate, *named]
    names += [f"{name}, {one}" for name in named for one in when]
    yield from markdown_table([*names, "n", "forgetting"], rows)
    learned, forgotten = _learned_and_forgotten(run)
    yield ""
    for name, skills in (("Learned most", learned), ("Forgot most", forgotten)):
        shown = ", ".join(f"{cell(s)} ({change(by)})" for s, by in skills)
        yield f"- {name}: {shown or 'nothing'}"


def _forest(run: RunFiles) -> Iterator[str]:
    if (forest := run.forest(run.best)) is None:
        return
    names = ["skill", "subskill", "allocation", "made", "last move and its reward"]
    names += ["validation", "before training", "training"]
    rows = (
        (skill, subskill or "(all)", allocation, made, move, *map(score, shares))
        for skill, subskill, allocation, made, move, *shares in forest_rows(forest)
    )
    yield from markdown_table(names, rows)


def _what_helped(run: RunFiles) -> Iterator[str]:
    attribution = read_attribution(run.directory, run.results)
    yield from islice(attribution_lines(attribution, most=_MOST_GROUPS), 1, None)


def _records(run: RunFiles) -> Iterator[str]:
    for i, datum in enumerate(_spread(list(run.records()))):
        if i:
            yield ""
        source = datum.provenance
        skill = f", skill {cell(source.skill)}" if source.skill else ""
        yield f"Record {cell(source.id)}, iteration {source.iteration}{skill}:"
        yield ""
        yield fenced(record(datum))


def _still_wrong(run: RunFiles) -> Iterator[str]:
    wrong = [c for c in run.completed(run.best) if not c.was_correct and c.error is None]
    n = run.summary.best.n_val - run.summary.best.n_errors
    yield f"{len(wrong)} of {n} validation instances."
    for completed in _spread(wrong):
        yield ""
        skill = f", skill {cell(completed.instance.skill)}" if completed.instance.skill else ""
        yield f"Instance {cell(completed.instance.id)}{skill}:"
        yield ""
        gold = "" if completed.instance.answer is None else f"\ngold: {completed.instance.answer}"
        yield fenced(conversation(completed.transcript) + gold)


def _timings(run: RunFiles) -> Iterator[str]:
    yield "Seconds by phase."
    yield ""
    names = (*PHASES, "total")
    rows = [
        (one.iteration, *(f"{one.seconds.get(name, 0.0):.2f}" for name in names))
        for one in run.summary.iterations
    ]
    yield from markdown_table(["iteration", *names], rows)


def _base_and_best(run: RunFiles) -> list[tuple[SkillReport, SkillReport | None]]:
    """Each skill of the base student, with the same one of the best iteration."""
    best = {(s.category, s.skill): s for s in run.results[run.best].report.skills}
    return [(s, best.get((s.category, s.skill))) for s in run.results[0].report.skills]


def _learned_and_forgotten(
    run: RunFiles,
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The skills with the largest gains and losses from the base to the best iteration."""
    changes = (
        (base.skill or "(none)", difference(best.score if best else None, base.score))
        for base, best in _base_and_best(run)
    )
    known = sorted(((name, by) for name, by in changes if by), key=lambda c: (-c[1], c[0]))
    gains = [c for c in known if c[1] > 0][:_SAMPLES]
    losses = [c for c in reversed(known) if c[1] < 0][:_SAMPLES]
    return gains, losses


def _spread(items: Sequence[_T]) -> list[_T]:
    """Choose `_SAMPLES` items, evenly spaced from the first to the last."""
    n = min(_SAMPLES, len(items))
    return [items[i * (len(items) - 1) // max(1, n - 1)] for i in range(n)]
