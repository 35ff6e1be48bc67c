"""Writes `report.md` and `curve.png`: the results of a run, for people.

Both use only the run directory. The same run gives the same report, except for its last section,
"Timings".
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from dataenvgym.episodes.plots import draw_curve
from dataenvgym.episodes.report_sections import learned_and_forgotten, report_lines, title
from dataenvgym.episodes.run_files import RunFiles
from dataenvgym.episodes.summary import read_summary
from dataenvgym.episodes.tables import iteration_table, outcome, print_warnings, shares
from dataenvgym.episodes.texts import change, one_line, plain, sparkline
from dataenvgym.storage import write_text


def write_report(run_directory: str | Path) -> Path:
    """Write `report.md` and `curve.png` into the run directory (see `RunFiles`)."""
    run = RunFiles(run_directory)
    categories = {s.skill: s.category for s in run.results[0].report.skills}
    draw_curve(run.summary, run.directory / "curve.png", categories=categories)
    path = run.directory / "report.md"
    write_text(path, "\n".join(report_lines(run)) + "\n")
    return path


def write_missing_report(run_directory: str | Path) -> None:
    """Write the report of a finished run without one, such as a run started from Python."""
    directory = Path(run_directory)
    is_whole = all((directory / name).exists() for name in ("report.md", "curve.png"))
    if not is_whole and read_summary(directory).status == "finished":
        write_report(directory)


def render_report(run_directory: str | Path, console: Console) -> None:
    """Show the short version: the result, the iterations, the skills learned and forgotten."""
    run = RunFiles(run_directory)
    console.print(Text(plain(title(run)), style="bold"))
    console.print(Text(outcome(run.summary)))
    for line in shares(run.summary.problems):
        console.print(Text(line), soft_wrap=True)
    console.print()
    console.print(iteration_table(run.summary.iterations, console.width))
    if not console.options.ascii_only:
        scores = [i.val_score for i in run.summary.iterations]
        console.print(Text(f"validation {sparkline(scores)}", style="cyan"))
    learned, forgotten = learned_and_forgotten(run)
    for name, skills, style in (("learned", learned, "green"), ("forgot", forgotten, "red")):
        if skills:
            shown = ", ".join(f"{one_line(s, 30)} {change(by)}" for s, by in skills)
            console.print(Text(f"{name} most: {shown}", style=style))
    print_warnings(run.summary, console)
    for name in ("report.md", "curve.png"):
        if (run.directory / name).exists():
            console.print(Text(plain(str(run.directory / name)), style="dim"), soft_wrap=True)
