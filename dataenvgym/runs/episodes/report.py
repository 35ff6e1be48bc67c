"""The report of an episode: short for a terminal and a notebook, whole as `report.md`.

It uses only the run directory. The same run gives the same report, except for its last section,
"Timings".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from dataenvgym.environments import PHASES
from dataenvgym.environments.rendering import forest_rows
from dataenvgym.records import SkillReport
from dataenvgym.runs.documents import Document, File, Line, Row, Table, markdown, table
from dataenvgym.runs.episodes.attribution import read_attribution
from dataenvgym.runs.episodes.outcome import iteration_table, outcome, shares, warnings_of
from dataenvgym.runs.episodes.plots import draw_curve
from dataenvgym.runs.episodes.run_files import RunFiles, mean_loss
from dataenvgym.runs.episodes.show import answers_of, records_of
from dataenvgym.runs.episodes.summary import read_summary
from dataenvgym.runs.texts import change, difference, dollars, one_line
from dataenvgym.storage import write_text
from dataenvgym.tasks.metrics.estimators import estimate, noise_floor

_SAMPLES = 3


def write_report(run_directory: str | Path) -> Path:
    """Write `report.md` and `curve.png` into the run directory (see `RunFiles`)."""
    run = RunFiles(run_directory)
    categories = {s.skill: s.category for s in run.results[0].report.skills}
    forgetting = [mean_loss(lost) for lost in run.losses]
    draw_curve(
        run.summary, run.directory / "curve.png", categories=categories, forgetting=forgetting
    )
    path = run.directory / "report.md"
    write_text(path, markdown(report(run.directory, whole=True)))
    return path


def write_missing_report(run_directory: str | Path) -> None:
    """Write the report of a finished run without one, such as a run started from Python."""
    directory = Path(run_directory)
    is_whole = all((directory / name).exists() for name in ("report.md", "curve.png"))
    if not is_whole and read_summary(directory).status == "finished":
        write_report(directory)


def report(
    run_directory: str | Path,
    seed_variance: float | None = None,
    about_seeds: str = "without the spread of seeds",
    *,
    whole: bool = False,
) -> Document:
    """The results, the iterations, the skills learned and forgotten, and what helped.

    Args:
        seed_variance, about_seeds: see `gain_text`.
        whole: also the setup, all skills, some records and wrong answers, and timings.
    """
    run = RunFiles(run_directory)
    yield Line(run.summary.title, "title")
    yield outcome(run.summary)
    if text := gain_text(run_directory, seed_variance, about_seeds):
        yield text
    yield from warnings_of(run.summary)
    if not whole:
        yield from shares(run.summary.problems)
        yield iteration_table(run.summary)
        yield from _learned(run)
        if len(run.losses) > 1:
            lost = mean_loss(run.losses[-1])
            text = f"forgetting {lost:.3f}: solved by an earlier student, not by the last one"
            yield Line(text, "bad" if lost else "text")
        yield from read_attribution(run.directory, run.results).document()
        for name in ("report.md", "curve.png"):
            if (run.directory / name).exists():
                yield File(run.directory / name)
        return
    yield File(run.directory / "curve.png", "Validation score by iteration, overall and by skill")
    sections = {
        "Setup": _setup(run),
        "Iterations": [iteration_table(run.summary, [mean_loss(lost) for lost in run.losses])],
        "Skills": _skills(run),
        f"The forest after iteration {run.best}": _forest(run),
        "What helped": read_attribution(run.directory, run.results).document(),
    }
    for title, parts in sections.items():
        if found := [*parts]:
            yield Line(title, "section")
            yield from found
    if run.best:
        yield from records_of(run, run.best, limit=_SAMPLES)
    yield from answers_of(run, run.best, limit=_SAMPLES, wrong=True)
    yield Line("Timings", "section")
    yield from _timings(run)


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
    return text + ": the gain is within the noise floor, so perhaps none" * is_noise


# --- parts of the whole report ---


def _setup(run: RunFiles) -> Document:
    summary = run.summary
    rows: dict[str, object] = {
        "task": summary.task,
        "agent": summary.agent,
        "seed": summary.seed,
        "student": run.student,
        "environment": run.environment.get("environment"),
        "mode": run.environment.get("mode"),
        "status": summary.status,
        "iterations": len(summary.iterations) - 1,
        "validation instances": summary.problems.get("validation", summary.iterations[0].n_val),
        "training records": summary.iterations[-1].n_records_total,
    }
    if "test" in summary.problems:
        rows["test instances"] = summary.problems["test"]
    if summary.teacher is not None:
        numbers = summary.teacher.model_dump(exclude={"cost"})
        words = [f"{n} {name.replace('_', ' ')}" for name, n in numbers.items() if n]
        rows["teacher"] = ", ".join([*words, dollars(summary.teacher.cost)])
    yield Table(("", ""), [*rows.items()], texts=2)


def _skills(run: RunFiles) -> Document:
    pairs = _base_and_best(run)
    if not any(base.skill for base, _ in pairs):
        return
    reports = (run.results[0].report, run.results[run.best].report)
    named = sorted({name for report in reports for s in report.skills for name in s.scores})
    lost: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one in run.completed(run.best):
        if (i := one.instance.id) in run.losses[run.best]:
            lost[one.instance.skill or ""][i] = run.losses[run.best][i]
    now = f"iteration {run.best}"
    rows: list[Row] = []
    for base, best in pairs:
        after = best.score if best else None
        row: dict[str | tuple[str, ...], object] = {
            "category": base.category or "-",
            "skill": base.skill or "(none)",
            "base": base.score,
            now: after,
            "change": change(difference(after, base.score)),
            "no answer, base": base.no_answer_rate,
            f"no answer, {now}": best.no_answer_rate if best else None,
        }
        for name in named:
            row["named", name, f"{name}, base"] = base.scores.get(name)
            row["named", name, f"{name}, {now}"] = best.scores.get(name) if best else None
        row["n"] = base.n
        row["forgetting"] = mean_loss(lost[base.skill]) if run.best else None
        rows.append(row)
    yield table(rows, texts=2)
    yield from _learned(run)


def _learned(run: RunFiles) -> Iterator[Line]:
    """The skills with the largest gains and losses from the base to the best iteration."""
    changes = (
        (base.skill or "(none)", difference(best.score if best else None, base.score))
        for base, best in _base_and_best(run)
    )
    known = sorted(((name, by) for name, by in changes if by), key=lambda c: (-c[1], c[0]))
    gains = [c for c in known if c[1] > 0][:_SAMPLES]
    losses = [c for c in reversed(known) if c[1] < 0][:_SAMPLES]
    for what, skills in (("learned", gains), ("forgot", losses)):
        if skills:
            shown = ", ".join(f"{one_line(s, 30)} {by:+.3f}" for s, by in skills)
            yield Line(f"{what} most: {shown}", "good" if skills is gains else "bad")


def _forest(run: RunFiles) -> Document:
    if (forest := run.forest(run.best)) is None:
        return
    names = ("skill", "subskill", "last move and its reward", "allocation", "made",
             "validation", "before training", "training")  # fmt: skip
    rows = [
        (skill, subskill or "(all)", move, allocation, made, *shares)
        for skill, subskill, allocation, made, move, *shares in forest_rows(forest)
    ]
    yield Table(names, rows, texts=3)


def _timings(run: RunFiles) -> Document:
    yield "Seconds by phase."
    names = (*PHASES, "total")
    rows = [
        (one.iteration, *(f"{one.seconds.get(name, 0.0):.2f}" for name in names))
        for one in run.summary.iterations
    ]
    yield Table(("iteration", *names), rows)


def _base_and_best(run: RunFiles) -> list[tuple[SkillReport, SkillReport | None]]:
    """Each skill of the base student, with the same one of the best iteration."""
    best = {(s.category, s.skill): s for s in run.results[run.best].report.skills}
    return [(s, best.get((s.category, s.skill))) for s in run.results[0].report.skills]
