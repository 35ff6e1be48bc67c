"""The outcome of an episode in words and a table, from its summary; also for notebooks."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.documents import Line, Table, html, table
from dataenvgym.runs.episodes.plots import curve_bytes
from dataenvgym.runs.episodes.summary import Summary, warning_lines
from dataenvgym.runs.texts import by_fault, change, counts, refusal_text, score, several

if TYPE_CHECKING:
    import pandas as pd


def outcome(summary: Summary, *, with_error: bool = True) -> str:
    """One line: how the episode ended, and the student's gain.

    Args:
        with_error: end with the first line of the error of a failed episode.
    """
    text: str = summary.status
    if summary.nothing_trained:
        text = f"nothing was trained, no record in any iteration; {text}"
    if summary.iterations:
        base, best = summary.iterations[0], summary.best
        text += (
            f": validation {base.val_score:.3f} -> {best.val_score:.3f} "
            f"({change(summary.val_score_gain)}) at iteration {best.iteration}"
            f"{_no_answers(*((one.no_answer_rate, one.answered_score) for one in (base, best)))}"
        )
    if summary.n_refused:
        text += f"; {several(summary.n_refused, 'iteration')} refused by the gate"
    if summary.test_score_before is not None and summary.test_score_after is not None:
        gain = summary.test_score_after - summary.test_score_before
        rates, answered = summary.test_no_answer_rates, summary.test_answered_scores
        told = [(rates.get(n), answered.get(n)) for n in (0, summary.best_iteration)]
        text += (
            f"; test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f} "
            f"({change(gain)}){_no_answers(*told)}"
        )
    if summary.ended is not None and summary.status == "finished":
        text += f"; ended before its last iteration: {summary.ended}"
    elif summary.teacher is not None and summary.teacher.unasked:
        text += (
            f"; the teacher's budget left {several(summary.teacher.unasked, 'question')} unasked"
        )
    if summary.teacher is not None and summary.teacher.malformed:
        text += f"; {several(summary.teacher.malformed, 'answer')} of the teacher could not be used"
    if with_error and summary.error is not None and summary.status == "failed":
        text += f"; {summary.error.partition(chr(10))[0]}"
    return text


def _no_answers(*told: tuple[float | None, float | None]) -> str:
    """The no-answer rates before and after, and the scores of the replies with an answer."""
    rates, answered = zip(*told, strict=True)
    if None in rates or not any(rates):
        return ""
    shown = (f"{score(before)} -> {score(after)}" for before, after in (rates, answered))
    return ", no answer {}, score of the answers {}".format(*shown)


def shares(problems: Mapping[str, str]) -> list[str]:
    """One line for each split that is only a part of its source."""
    return [f"{split}: {text}" for split, text in problems.items()]


def warnings_of(summary: Summary) -> list[Line]:
    """The warnings of a run, each text once."""
    return [Line(text, "warning") for text in warning_lines(summary.warnings)]


def iteration_table(summary: Summary, forgetting: Sequence[float] = ()) -> Table:
    """One row for each iteration."""
    iterations = summary.iterations
    rates = summary.test_no_answer_rates if summary.test_scores else {}
    return table(
        {
            "iteration": f"{i} (best)" if i == summary.best_iteration else str(i),
            "validation": one.val_score,
            "no answer": one.no_answer_rate,
            "change": change(one.val_score - iterations[i - 1].val_score if i else None),
            **{("named", name): one.named_scores.get(name) for name in summary.score_names},
            "failed calls": by_fault(one.n_errors, one.faults) if one.n_errors else None,
            "records": one.n_records,
            "dropped": counts(one.dropped),
            "forgetting": forgetting[i] if forgetting and i else None,
            "refused by the gate": refusal_text(one.refused) if one.refused else None,
            "test": next(iter(summary.test_scores[i:]), None),
            "no answer, test": rates.get(i),
        }
        for i, one in enumerate(iterations)
    )


def to_frame(summary: Summary) -> pd.DataFrame:
    """See `Summary.to_pandas`."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ConfigurationError(
            f"Summary.to_pandas() needs pandas ({error}): pip install 'dataenvgym[pandas]', or "
            "use summary.iterations"
        ) from error
    return pd.json_normalize([one.model_dump(mode="json") for one in summary.iterations])


def to_html(summary: Summary) -> str:
    """The outcome, the table of iterations, and the curve, in self-contained HTML."""
    parts: list[str | Line | Table] = [Line(summary.title, "title"), outcome(summary)]
    parts += shares(summary.problems)
    if not summary.iterations:
        return html(parts)
    image = base64.b64encode(curve_bytes(summary)).decode()
    text = html([*parts, iteration_table(summary)])
    return f'{text}\n<img src="data:image/png;base64,{image}" width="720">'
