"""Words for figures, records and conversations (see `documents`)."""

from __future__ import annotations

from collections.abc import Mapping

from dataenvgym.errors import shorten
from dataenvgym.records import Conversation, Message, Refusal, TrainingDatum
from dataenvgym.runs.documents import plain
from dataenvgym.tasks.metrics.estimators import Estimate


def one_line(text: str, width: int = 80) -> str:
    """`text` on one line of at most `width` characters, cut off with "..."."""
    return shorten(" ".join(plain(text).split()), width)


def score(value: float | None, digits: int = 3) -> str:
    """A score with this number of digits, or a dash for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def change(value: float | None, digits: int = 3) -> str:
    """A difference of scores with its sign and this number of digits, or a dash for None."""
    return "-" if value is None else f"{value:+.{digits}f}"


def gain(found: Estimate, sign: str = "+") -> str | None:
    """`+0.042 ±0.010`: a mean difference and half of its 95% interval; None without a mean."""
    if found.mean is None:
        return None
    half = "" if found.half_width is None else f" ±{found.half_width:.3f}"
    return f"{found.mean:{sign}.3f}{half}"


def interval(found: Estimate | None) -> str:
    """`+0.012 to +0.034`: the 95% interval, or a dash without one."""
    if found is None or found.low is None or found.high is None:
        return "-"
    return f"{found.low:+.3f} to {found.high:+.3f}"


def difference(after: float | None, before: float | None) -> float | None:
    """`after - before`, or None if one of them is None."""
    return None if after is None or before is None else after - before


def dollars(cost: float | None) -> str:
    """`$0.0120`, or `cost unknown`."""
    return "cost unknown" if cost is None else f"${cost:.4f}"


def several(n: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def minutes(seconds: float) -> str:
    """`90 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    whole = round(seconds / 60)
    return f"{whole} min" if whole < 100 else f"{whole / 60:.1f} h"


def counts(numbers: Mapping[str, float]) -> str:
    """`3 duplicate, 1.5 near_duplicate`, or `0`."""
    shown = ((name, str(round(n, 1)).removesuffix(".0")) for name, n in sorted(numbers.items()))
    return ", ".join(f"{n} {name}" for name, n in shown) or "0"


def by_fault(n_errors: int, faults: dict[str, int]) -> str:
    """`4 (3 user, 1 environment)`: the number of instances with an error, by cause."""
    return f"{n_errors} ({counts(faults)})" if faults else str(n_errors)


def refusal_text(refused: Refusal) -> str:
    """`lost 0.400 in hum, whisper (p = 0.002)`: why the gate refused a student."""
    where = f"in {', '.join(refused.skills)}" if refused.skills else "on all held problems"
    return f"lost {refused.drop:.3f} {where} (p = {refused.p:.2g})"


def conversation(messages: Conversation) -> str:
    """A conversation, each turn under its role."""
    return "\n".join(_turn(message) for message in messages)


def record(datum: TrainingDatum) -> str:
    """A record as text: the prompt and the answer or answers, each under its role or label."""
    lines = []
    for label, (first, *more) in datum.turns():
        said = "\n  ".join([_said(first), *map(_turn, more)])
        lines.append(f"{label}: {said}" if label else said)
    return "\n".join(lines)


def _turn(message: Message) -> str:
    return f"{message.name or message.role}: {_said(message)}"


def _said(message: Message) -> str:
    """The text of a message, with its tools and tool calls."""
    tools = "".join(f"\n  may call {tool.name}: {tool.description}" for tool in message.tools)
    calls = "".join(f"\n  calls {c.name}({c.arguments})" for c in message.tool_calls)
    return f"{message.content}{tools}{calls}"
