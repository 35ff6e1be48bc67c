"""A `Summary` for notebooks: as a data frame, and as HTML with its learning curve."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from dataenvgym.episodes.plots import curve_bytes
from dataenvgym.episodes.tables import outcome, shares
from dataenvgym.episodes.texts import by_fault, change, plain, score
from dataenvgym.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd

    from dataenvgym.episodes.summary import Summary


def to_frame(summary: Summary, *, by_skill: bool = False) -> pd.DataFrame:
    """See `Summary.to_pandas`."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ConfigurationError(
            f"Summary.to_pandas() needs pandas ({error}): pip install 'dataenvgym[pandas]', or "
            "use summary.iterations"
        ) from error
    if by_skill:
        scores = [
            {"iteration": one.iteration, "skill": skill, "val_score": value}
            for one in summary.iterations
            for skill, value in one.val_score_by_skill.items()
        ]
        return pd.DataFrame(scores, columns=["iteration", "skill", "val_score"])
    names = ("iteration", "val_score", "n_val", "n_errors", "n_records", "n_records_total")
    named = summary.score_names
    faults = sorted({fault for one in summary.iterations for fault in one.faults})
    rows = [
        {
            **{name: getattr(one, name) for name in names},
            "n_dropped": sum(one.dropped.values()),
            "seconds": one.seconds.get("total"),
            **{name: one.named_scores.get(name) for name in named},
            **{f"n_errors_{fault}": one.faults.get(fault, 0) for fault in faults},
        }
        for one in summary.iterations
    ]
    columns = [*names, "n_dropped", "seconds", *named, *(f"n_errors_{fault}" for fault in faults)]
    return pd.DataFrame(rows, columns=columns)


def to_html(summary: Summary) -> str:
    """The outcome, a table of the iterations, and the learning curve, in self-contained HTML."""
    title = f"{summary.task}, taught by {summary.agent}, seed {summary.seed}"
    lines = [outcome(summary), *shares(summary.problems)]
    parts = [f"<b>{escape(plain(title))}</b>", *(f"<p>{escape(line)}</p>" for line in lines)]
    if summary.iterations:
        image = base64.b64encode(curve_bytes(summary)).decode()
        parts += [_table(summary), f'<img src="data:image/png;base64,{image}" width="720">']
    return "\n".join(parts)


def _table(summary: Summary) -> str:
    names = ["iteration", "validation", "change", "records", "dropped", "seconds"]
    has_errors = any(one.n_errors for one in summary.iterations)
    names += ["failed calls"] * has_errors
    head = "".join(f"<th>{name}</th>" for name in names)
    rows, before = [], None
    for one in summary.iterations:
        values = (
            str(one.iteration),
            score(one.val_score),
            change(None if before is None else one.val_score - before),
            str(one.n_records),
            str(sum(one.dropped.values())),
            f"{one.seconds.get('total', 0.0):.1f}",
            *[escape(by_fault(one.n_errors, one.faults))] * has_errors,
        )
        rows.append("".join(f"<td>{value}</td>" for value in values))
        before = one.val_score
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
