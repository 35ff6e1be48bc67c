"""Shows the records of an iteration, and the student's answers before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataenvgym.environments import IterationFiles
from dataenvgym.episodes.run_files import RunFiles
from dataenvgym.episodes.tables import print_warnings
from dataenvgym.episodes.texts import conversation, plain, record, several
from dataenvgym.errors import ConfigurationError, check_at_least, did_you_mean
from dataenvgym.records import CompletedTaskInstance, TrainingDatum


def show_iteration(
    run_directory: str | Path,
    console: Console,
    *,
    iteration: int | None = None,
    skill: str | None = None,
    wrong: bool = False,
    limit: int = 20,
) -> None:
    """Show an iteration's records and the student's answers before and after it.

    Args:
        iteration: its number; None takes the best one. "Before" is the base student.
        skill: only instances with this gold skill, and records made for it.
        wrong: only instances that are wrong after the iteration, and no records.
        limit: the most records, dropped records and instances to show, each.

    Raises:
        RunDirectoryError: if there is no such run or iteration.
        ConfigurationError: if no instance and no record has this skill, or `limit` is not
            positive.
    """
    check_at_least(1, limit=limit)
    run = RunFiles(run_directory)
    number = run.best if iteration is None else iteration
    files = run.iteration(number)
    after = run.completed(number)
    before = run.completed(0) if number else None
    if skill is not None:
        _check_skill(run, after, skill)
    title = f"iteration {number} of {run.summary.task}, taught by {run.summary.agent}"
    if number == 0:
        title = f"base student on {run.summary.task}"
    console.print(Text(plain(title), style="bold"), soft_wrap=True)
    if number and not wrong:
        _show_records(files, console, skill, limit)
    _Comparison(before, after, number).show(console, skill, wrong, limit)
    print_warnings(run.summary, console)


def _show_records(files: IterationFiles, console: Console, skill: str | None, limit: int) -> None:
    accepted = [(r, "") for r in files.read_records() if _is_for(r, skill)]
    dropped = [(r, reason) for r, reason in files.read_dropped() if _is_for(r, skill)]
    for name, records in (("accepted", accepted), ("dropped", dropped)):
        if not records and name == "dropped":
            continue
        console.print()
        console.print(Text(f"{several(len(records), 'record')} {name}", style="bold cyan"))
        table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False, show_edge=False)
        table.add_column(no_wrap=True, style="dim", max_width=max(12, console.width // 4))
        table.add_column(overflow="fold")
        for datum, reason in records[:limit]:
            labels = (reason, datum.provenance.id, datum.provenance.skill)
            label = "\n".join(plain(text) for text in labels if text)
            table.add_row(Text(label), Text(plain(record(datum))), end_section=True)
        if records:
            console.print(table)
        _tell_left(console, len(records) - limit)


class _Comparison:
    """The answers of the base student and of an iteration's student to the same instances."""

    def __init__(
        self,
        before: Sequence[CompletedTaskInstance] | None,
        after: Sequence[CompletedTaskInstance],
        number: int,
    ) -> None:
        self._before = None if before is None else {c.instance.id: c for c in before}
        self._after = after
        self._name = f"iteration {number}" if number else "base student"

    def show(self, console: Console, skill: str | None, wrong: bool, limit: int) -> None:
        chosen = [c for c in self._after if skill is None or c.instance.skill == skill]
        n = len(chosen)
        if wrong:
            chosen = [c for c in chosen if not c.was_correct and c.error is None]
        console.print()
        console.print(Text(self._headline(chosen, n, wrong), style="bold cyan"))
        for completed in chosen[:limit]:
            console.print()
            self._show_one(console, completed)
        _tell_left(console, len(chosen) - limit)

    def _headline(self, chosen: Sequence[CompletedTaskInstance], n: int, wrong: bool) -> str:
        text = (
            f"{len(chosen)} of {several(n, 'instance')} wrong" if wrong else several(n, "instance")
        )
        if self._before is not None and not wrong:
            pairs = [(self._before[c.instance.id], c) for c in chosen
                     if c.instance.id in self._before]  # fmt: skip
            learned = sum(a.was_correct and not b.was_correct for b, a in pairs)
            forgotten = sum(b.was_correct and not a.was_correct for b, a in pairs)
            text += f": {learned} learned, {forgotten} forgotten"
            text += f", {sum(a.was_correct for _, a in pairs)} right now"
        return text

    def _show_one(self, console: Console, after: CompletedTaskInstance) -> None:
        instance = after.instance
        facts = [instance.id, *(f for f in (instance.category, instance.skill) if f)]
        if instance.answer is not None:
            facts.append(f"gold: {instance.answer}")
        console.print(Text(plain(", ".join(facts)), style="bold"))
        shown = [(self._name, after)]
        if self._before is not None and instance.id in self._before:
            shown.insert(0, ("base student", self._before[instance.id]))
        common = _common_start([c for _, c in shown])
        console.print(Text(plain(conversation(after.transcript[:common])), style="dim"))
        table = Table(box=box.SQUARE, expand=True, show_lines=False)
        for name, completed in shown:
            table.add_column(_verdict(name, completed), ratio=1, overflow="fold")
        table.add_row(*(Text(_rest(c, common)) for _, c in shown))
        console.print(table)


def _verdict(name: str, completed: CompletedTaskInstance) -> Text:
    if completed.error is not None:
        return Text(f"{name}: call failed", style="yellow")
    if completed.was_correct:
        return Text(f"{name}: right", style="green")
    return Text(f"{name}: wrong ({completed.reward:g})", style="red")


def _common_start(completed: Sequence[CompletedTaskInstance]) -> int:
    """The number of first messages that are the same in all, and not the student's."""
    count = 0
    for messages in zip(*(c.transcript for c in completed), strict=False):
        if messages[0].role == "assistant" or any(m != messages[0] for m in messages):
            break
        count += 1
    return count


def _rest(completed: CompletedTaskInstance, start: int) -> str:
    parts = [conversation(completed.transcript[start:])] if completed.transcript[start:] else []
    parts += [f"error: {completed.error}"] if completed.error else []
    parts += [f"note: {completed.note}"] if completed.note else []
    return plain("\n".join(parts) or "(no answer)")


def _is_for(datum: TrainingDatum, skill: str | None) -> bool:
    return skill is None or datum.provenance.skill == skill


def _check_skill(run: RunFiles, after: Sequence[CompletedTaskInstance], skill: str) -> None:
    known = {c.instance.skill for c in after} | {r.provenance.skill for r in run.records()}
    names = sorted(name for name in known if name)
    if skill not in names:
        listed = f"it has: {', '.join(names)}" if names else "its instances have no gold skills"
        raise ConfigurationError(
            f"{run.directory} has no skill {skill!r}.{did_you_mean(skill, names)} "
            f"{listed[0].upper()}{listed[1:]}."
        )


def _tell_left(console: Console, left: int) -> None:
    if left > 0:
        console.print(Text(f"... and {left} more", style="dim"))
