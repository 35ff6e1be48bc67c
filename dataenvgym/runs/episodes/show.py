"""Shows the records of an iteration, and the student's answers before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dataenvgym.errors import ConfigurationError, RunDirectoryError, did_you_mean
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.runs.documents import Document, Line, Quote, Style
from dataenvgym.runs.episodes.attribution import read_attribution
from dataenvgym.runs.episodes.outcome import warnings_of
from dataenvgym.runs.episodes.run_files import RunFiles, mean_loss
from dataenvgym.runs.texts import conversation, dollars, record, refusal_text, several
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import naming_damage
from dataenvgym.teachers.teacher_log import TeacherCall, calls_file, read_calls


def calls_of(run_directory: str | Path, *, failed: bool = False, limit: int = 20) -> Document:
    """The prompts and answers of a run's teacher, in the order of the calls.

    Args:
        failed: only calls without an answer.
        limit: the most calls to show.

    Raises:
        RunDirectoryError: if the run asked no teacher, or the file is damaged.
    """
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
    cached = f", {n_cached} answered by the cache" if n_cached else ""
    lost = f", {n_failed} without an answer" if n_failed else ""
    yield Line(f"{several(len(calls), 'call')} of the teacher{cached}{lost}", "title")
    for number, call in chosen[:limit]:
        yield Line(f"call {number} of {len(calls)}: {call.purpose}", "section")
        yield Line(", ".join(_facts(call)), "note")
        for message in call.messages:
            yield Quote(message.role, message.content)
        yield (
            Quote("no answer", call.failure or "the reason is unknown", "bad")
            if call.reply is None
            else Quote("answer", call.reply, "good")
        )
    yield from _left(len(chosen) - limit)


def _facts(call: TeacherCall) -> Iterator[str]:
    yield call.model
    if call.sample:
        yield f"sample {call.sample + 1}"
    if call.cached:
        yield "from the cache"
    else:
        asked, answered = call.prompt_tokens, call.completion_tokens
        is_known = asked is not None and answered is not None
        yield f"{asked} + {answered} tokens" if is_known else "tokens unknown"
        yield dollars(call.cost)
        yield f"{call.seconds:.1f} s"
    if call.finish_reason == "length":
        yield "cut off at max_tokens"


def iteration_of(
    run_directory: str | Path,
    *,
    iteration: int | None = None,
    skill: str | None = None,
    wrong: bool = False,
    limit: int = 20,
    seed: int | None = None,
) -> Document:
    """An iteration's records and the student's answers before and after it.

    Args:
        iteration: its number; None takes the best one. "Before" is the base student.
        skill: only instances with this gold skill, and records made for it.
        wrong: only instances that are wrong after the iteration, and no records.
        limit: the most records, dropped records and instances to show, each.
        seed: draws the instances; None shows the first ones.

    Raises:
        RunDirectoryError: if there is no such run or iteration.
        ConfigurationError: if no instance and no record has this skill.
    """
    run = RunFiles(run_directory)
    number = run.best if iteration is None else iteration
    run.iteration(number)
    if skill is not None:
        known = {c.instance.skill for c in run.completed(number)}
        known |= {r.provenance.skill for r in run.records()}
        names = sorted(name for name in known if name)
        if skill not in names:
            listed = f"It has: {', '.join(names)}" if names else "Its instances have no gold skills"
            raise ConfigurationError(
                f"{run.directory} has no skill {skill!r}.{did_you_mean(skill, names)} {listed}."
            )
    title = f"iteration {number} of {run.summary.task}, taught by {run.summary.agent}"
    yield Line(title if number else f"base student on {run.summary.task}", "title")
    yield from warnings_of(run.summary)
    if (refused := run.results[number].refused) is not None:
        text = f"the gate refused its student, which {refusal_text(refused)}: the student before it"
        yield Line(f"{text} gave these answers", "warning")
    if number and not wrong:
        yield from records_of(run, number, skill=skill, limit=limit)
    yield from answers_of(run, number, skill=skill, limit=limit, wrong=wrong, seed=seed)


def records_of(
    run: RunFiles, number: int, *, skill: str | None = None, limit: int = 20
) -> Document:
    """The accepted and the dropped records of an iteration, with their effects if measured."""
    effects = read_attribution(run.directory, run.results).labels(number)
    checked = run.iteration(number).read_checked() or ()
    rows = [row for row in checked if skill in (None, row.record.provenance.skill)]
    for name in ("accepted", "dropped"):
        records = [row for row in rows if row.is_accepted == (name == "accepted")]
        if not records and name == "dropped":
            continue
        n = several(len(records), "record")
        yield Line(f"iteration {number}: {n} {name}", "section")
        for row in records[:limit]:
            source = row.record.provenance
            note = effects.get(source.id) if row.is_accepted else None
            labels = (None if row.is_accepted else row.verdict, source.id, source.skill, note)
            told = [record(row.record), *(f"hypothesis: {one}" for one in source.hypotheses)]
            told += [f"selected: {source.selected}"] if source.selected else []
            yield Quote(", ".join(text for text in labels if text), "\n".join(told))
        yield from _left(len(records) - limit)


def answers_of(
    run: RunFiles,
    number: int,
    *,
    skill: str | None = None,
    limit: int = 20,
    wrong: bool = False,
    seed: int | None = None,
) -> Document:
    """The answers of an iteration's student, below those of the base student."""
    after = [c for c in run.completed(number) if skill in (None, c.instance.skill)]
    before = {c.instance.id: c for c in run.completed(0)} if number else {}
    if seed is not None:
        after = [after[i] for i in derive_rng(seed, "show").permutation(len(after)).tolist()]
    headline = several(len(after), "instance")
    if wrong:
        after = [c for c in after if not c.was_correct and c.error is None]
        headline = f"{len(after)} of {headline} wrong"
    elif before:
        pairs = [(before[c.instance.id], c) for c in after if c.instance.id in before]
        learned = sum(a.was_correct and not b.was_correct for b, a in pairs)
        forgotten = sum(b.was_correct and not a.was_correct for b, a in pairs)
        lost = {c.instance.id for c in after}
        loss = mean_loss({i: by for i, by in run.losses[number].items() if i in lost})
        headline += f": {learned} learned, {forgotten} forgotten"
        headline += f", {sum(a.was_correct for _, a in pairs)} right now, forgetting {loss:.3f}"
    yield Line(headline, "section")
    for completed in after[:limit]:
        instance = completed.instance
        facts = [instance.id, *(f for f in (instance.category, instance.skill) if f)]
        if instance.answer is not None:
            facts.append(f"gold: {instance.answer}")
        shown = [(f"iteration {number}" if number else "base student", completed)]
        if instance.id in before:
            shown.insert(0, ("base student", before[instance.id]))
        common = 0  # first messages that are the same in all, and not the student's
        for messages in zip(*(c.transcript for _, c in shown), strict=False):
            if messages[0].role == "assistant" or any(m != messages[0] for m in messages):
                break
            common += 1
        yield Quote(", ".join(facts), conversation(completed.transcript[:common]))
        for name, one in shown:
            parts = [conversation(one.transcript[common:])] if one.transcript[common:] else []
            parts += [f"error: {one.error}"] if one.error else []
            parts += [f"note: {one.note}"] if one.note else []
            verdict, style = _verdict(one)
            yield Quote(f"{name}: {verdict}", "\n".join(parts) or "(no answer)", style)
    yield from _left(len(after) - limit)


def _verdict(completed: CompletedTaskInstance) -> tuple[str, Style]:
    if completed.error is not None:
        return "call failed", "warning"
    if completed.was_correct:
        return "right", "good"
    return f"wrong ({completed.reward:g})", "bad"


def _left(left: int) -> Document:
    if left > 0:
        yield Line(f"... and {left} more (dataenvgym show --limit N)", "note")
