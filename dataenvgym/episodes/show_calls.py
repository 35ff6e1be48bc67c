"""Shows the calls of a run's teacher, from `teacher/calls.jsonl`, on a terminal."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from dataenvgym.episodes.texts import one_line, plain, several
from dataenvgym.errors import RunDirectoryError, check_at_least
from dataenvgym.llm.transcript import TeacherCall, calls_file, read_calls


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
    calls = _read(directory)
    chosen = [(n, c) for n, c in enumerate(calls, 1) if c.reply is None or not failed]
    n_failed = sum(call.reply is None for call in calls)
    n_cached = sum(call.cached for call in calls)
    headline = f"{several(len(calls), 'call')} of the teacher"
    headline += f", {n_cached} answered by the cache" if n_cached else ""
    headline += f", {n_failed} without an answer" if n_failed else ""
    console.print(Text(headline, style="bold"))
    for number, call in chosen[:limit]:
        console.print()
        _show(console, number, len(calls), call)
    if len(chosen) > limit:
        console.print(Text(f"\n... and {len(chosen) - limit} more (--limit N)", style="dim"))


def _read(directory: Path) -> list[TeacherCall]:
    path = calls_file(directory)
    if not path.exists():
        raise RunDirectoryError(
            f"{directory} has no teacher/calls.jsonl: no teacher was asked in this run, or your "
            "own, whose calls are not kept"
        )
    calls: list[TeacherCall] = []
    try:
        calls.extend(read_calls(directory))
    except (ValidationError, ValueError) as error:
        raise RunDirectoryError(f"{path} is damaged: {one_line(str(error), 200)}") from error
    return calls


def _show(console: Console, number: int, total: int, call: TeacherCall) -> None:
    title = f"call {number} of {total}: {call.purpose}"
    console.print(Text(plain(title), style="bold cyan"))
    console.print(Text(plain(", ".join(_facts(call))), style="dim"))
    for message in call.messages:
        show_turn(console, message.role, message.content)
    if call.reply is not None:
        show_turn(console, "answer", call.reply, "green")
    else:
        show_turn(console, "no answer", call.failure or "the reason is unknown", "red")


def _facts(call: TeacherCall) -> list[str]:
    facts = [call.model]
    if call.sample:
        facts.append(f"sample {call.sample + 1}")
    if call.cached:
        facts.append("from the cache")
    else:
        tokens = (call.prompt_tokens, call.completion_tokens)
        known = None not in tokens
        facts.append(f"{tokens[0]} + {tokens[1]} tokens" if known else "tokens unknown")
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
