"""Shows the records of an iteration, and the student's answers before and after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataenvgym.environments import IterationFiles
from dataenvgym.errors import ConfigurationError, RunDirectoryError, check_at_least, did_you_mean
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.runs.episodes.attribution import read_attribution
from dataenvgym.runs.episodes.run_files import Losses, RunFiles, mean_loss
from dataenvgym.runs.episodes.tables import print_warnings
from dataenvgym.runs.episodes.texts import (
    conversation,
    plain,
    record,
    refusal_text,
    several,
)
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import naming_damage
from dataenvgym.teachers.teacher_log import TeacherCall, calls_file, read_calls


def show_calls(
    run_directory: str | Path, console: Console, *, failed: bool = False, limit: int = 20
) -> None:
    """Show the prompts and answers of a run's teacher, in the order of the calls.

    Args:
        failed: only calls without an answer.
        limit: the most calls to show.

    Raises:
        RunDirectoryError: if the run asked no teacher, or the file is damaged.
        ConfigurationError: if `limit` is not positive.
    """
    check_at_least(1, limit=limit)
    directory = Path(run_directory)
    path = calls_file(directory)
    if not path.exists():
        raise RunDirectoryError(
            f"{directory} has no teacher/calls.jsonl: no teacher was asked in this run, or your "
            "own, whose calls are not kept"
        )
    with naming_damage(path):
        calls = list(read_calls(directory))
    chosen = [(n, c) for n, c in enumerate(calls, 1) if c.reply is None or not failed]
    n_failed = sum(call.reply is None for call in calls)
    n_cached = sum(call.cached for call in calls)
    headline = f"{several(len(calls), 'call')} of the teacher"
    headline += f", {n_cached} answered by the cache" if n_cached else ""
    headline += f", {n_failed} without an answer" if n_failed else ""
    console.print(Text(headline, style="bold"))
    for number, call in chosen[:limit]:
        console.print()
        title = f"call {number} of {len(calls)}: {call.purpose}"
        console.print(Text(plain(title), style="bold cyan"))
        console.print(Text(plain(", ".join(_facts(call))), style="dim"))
        for message in call.messages:
            show_turn(console, message.role, message.content)
        if call.reply is not None:
            show_turn(console, "answer", call.reply, "green")
        else:
            show_turn(console, "no answer", call.failure or "the reason is unknown", "red")
    if len(chosen) > limit:
        console.print(Text(f"\n... and {len(chosen) - limit} more (--limit N)", style="dim"))


def _facts(call: TeacherCall) -> list[str]:
    facts = [call.model]
    if call.sample:
        facts.append(f"sample {call.sample + 1}")
    if call.cached:
        facts.append("from the cache")
    else:
        asked, answered = call.prompt_tokens, call.completion_tokens
        is_known = asked is not None and answered is not None
        facts.append(f"{asked} + {answered} tokens" if is_known else "tokens unknown")
        facts.append("cost unknown" if call.cost is None else f"${call.cost:.4f}")
        facts.append(f"{call.seconds:.1f} s")
    if call.finish_reason == "length":
        facts.append("cut off at max_tokens")
    return facts


def show_turn(console: Console, name: str, text: str, style: str = "bold") -> None:
    """Show a turn of a conversation: the speaker, and the text below, in the console's width."""
    console.print(Text(plain(f"{name}:"), style=style))
    for line in Text(plain(text).rstrip()).wrap(console, max(20, console.width - 2)):
        line.rstrip()
        console.print(Text("  ").append_text(line) if line.plain else Text())


def show_iteration(
    run_directory: str | Path,
    console: Console,
    *,
    iteration: int | None = None,
    skill: str | None = None,
    wrong: bool = False,
    limit: int = 20,
    seed: int | None = None,
) -> None:
    """Show an iteration's records and the student's answers before and after it.

    Args:
        iteration: its number; None takes the best one. "Before" is the base student.
        skill: only instances with this gold skill, and records made for it.
        wrong: only instances that are wrong after the iteration, and no records.
        limit: the most records, dropped records and instances to show, each.
        seed: draws the instances; None shows the first ones.

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
    before = run.completed(0) if number else []
    if skill is not None:
        known = {c.instance.skill for c in after} | {r.provenance.skill for r in run.records()}
        names = sorted(name for name in known if name)
        if skill not in names:
            listed = f"It has: {', '.join(names)}" if names else "Its instances have no gold skills"
            raise ConfigurationError(
                f"{run.directory} has no skill {skill!r}.{did_you_mean(skill, names)} {listed}."
            )
    title = f"iteration {number} of {run.summary.task}, taught by {run.summary.agent}"
    if number == 0:
        title = f"base student on {run.summary.task}"
    console.print(Text(plain(title), style="bold"), soft_wrap=True)
    if (refused := run.results[number].refused) is not None:
        text = f"the gate refused its student, which {refusal_text(refused)}: the student before it"
        console.print(Text(plain(f"{text} gave these answers"), style="yellow"), soft_wrap=True)
    if number and not wrong:
        effects = read_attribution(run.directory, run.results).labels(number)
        _show_records(files, console, skill, limit, effects)
    chosen = [c for c in after if skill is None or c.instance.skill == skill]
    if seed is not None:
        order = derive_rng(seed, "show").permutation(len(chosen)).tolist()
        chosen = [chosen[i] for i in order]
    ids = {c.instance.id for c in chosen}
    lost = {i: loss for i, loss in run.losses[number].items() if i in ids}
    _show_answers(console, number, {c.instance.id: c for c in before}, chosen, wrong, limit, lost)
    print_warnings(run.summary, console)


def _show_records(
    files: IterationFiles,
    console: Console,
    skill: str | None,
    limit: int,
    effects: Mapping[str, str],
) -> None:
    rows = [r for r in files.read_checked() or () if skill in (None, r.record.provenance.skill)]
    for name in ("accepted", "dropped"):
        records = [row for row in rows if row.is_accepted == (name == "accepted")]
        if not records and name == "dropped":
            continue
        console.print()
        console.print(Text(f"{several(len(records), 'record')} {name}", style="bold cyan"))
        table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False, show_edge=False)
        table.add_column(no_wrap=True, style="dim", max_width=max(12, console.width // 4))
        table.add_column(overflow="fold")
        for row in records[:limit]:
            source = row.record.provenance
            note = effects.get(source.id) if row.is_accepted else None
            labels = (None if row.is_accepted else row.verdict, source.id, source.skill, note)
            label = "\n".join(plain(text) for text in labels if text)
            told = "".join(f"\nhypothesis: {plain(h)}" for h in source.hypotheses)
            told += f"\nselected: {plain(source.selected)}" if source.selected else ""
            table.add_row(Text(label), Text(f"{plain(record(row.record))}{told}"), end_section=True)
        if records:
            console.print(table)
        _tell_left(console, len(records) - limit)


def _show_answers(
    console: Console,
    number: int,
    before: Mapping[str, CompletedTaskInstance],
    after: Sequence[CompletedTaskInstance],
    wrong: bool,
    limit: int,
    lost: Losses,
) -> None:
    """Show the answers of an iteration's student below those of the base student.

    Args:
        before: the base student's, by the instance's id; empty if `after` are its answers.
        lost: what the instances lost since any earlier student.
    """
    headline = several(len(after), "instance")
    if wrong:
        after = [c for c in after if not c.was_correct and c.error is None]
        headline = f"{len(after)} of {headline} wrong"
    elif before:
        pairs = [(before[c.instance.id], c) for c in after if c.instance.id in before]
        learned = sum(a.was_correct and not b.was_correct for b, a in pairs)
        forgotten = sum(b.was_correct and not a.was_correct for b, a in pairs)
        headline += f": {learned} learned, {forgotten} forgotten"
        headline += f", {sum(a.was_correct for _, a in pairs)} right now"
        headline += f", forgetting {mean_loss(lost):.3f}"
    console.print()
    console.print(Text(headline, style="bold cyan"))
    for completed in after[:limit]:
        console.print()
        instance = completed.instance
        facts = [instance.id, *(f for f in (instance.category, instance.skill) if f)]
        if instance.answer is not None:
            facts.append(f"gold: {instance.answer}")
        console.print(Text(plain(", ".join(facts)), style="bold"))
        shown = [(f"iteration {number}" if number else "base student", completed)]
        if instance.id in before:
            shown.insert(0, ("base student", before[instance.id]))
        common = 0  # first messages that are the same in all, and not the student's
        for messages in zip(*(c.transcript for _, c in shown), strict=False):
            if messages[0].role == "assistant" or any(m != messages[0] for m in messages):
                break
            common += 1
        console.print(Text(plain(conversation(completed.transcript[:common])), style="dim"))
        table = Table(box=box.SQUARE, expand=True, show_lines=False)
        for name, one in shown:
            table.add_column(_verdict(name, one), ratio=1, overflow="fold")
        table.add_row(*(Text(_rest(c, common)) for _, c in shown))
        console.print(table)
    _tell_left(console, len(after) - limit)


def _verdict(name: str, completed: CompletedTaskInstance) -> Text:
    if completed.error is not None:
        return Text(f"{name}: call failed", style="yellow")
    if completed.was_correct:
        return Text(f"{name}: right", style="green")
    return Text(f"{name}: wrong ({completed.reward:g})", style="red")


def _rest(completed: CompletedTaskInstance, start: int) -> str:
    parts = [conversation(completed.transcript[start:])] if completed.transcript[start:] else []
    parts += [f"error: {completed.error}"] if completed.error else []
    parts += [f"note: {completed.note}"] if completed.note else []
    return plain("\n".join(parts) or "(no answer)")


def _tell_left(console: Console, left: int) -> None:
    if left > 0:
        console.print(Text(f"... and {left} more", style="dim"))
