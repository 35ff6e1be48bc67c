"""A `Summary` for notebooks: as a data frame, and as HTML with its learning curve."""

from __future__ import annotations

import base64
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dataenvgym.episodes.plots import curve_bytes
from dataenvgym.episodes.tables import iteration_table, outcome, shares
from dataenvgym.episodes.texts import plain
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
    names = ["iteration", "val_score", "n_val", "n_errors", "n_records", "n_records_total"]
    if any(one.no_answer_rate is not None for one in summary.iterations):
        names.insert(2, "no_answer_rate")
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
    """The outcome, the terminal's table of iterations, and the curve, in self-contained HTML."""
    console = Console(record=True, file=StringIO(), width=100, highlight=False)
    console.print(Text(plain(summary.title), style="bold"))
    for line in (outcome(summary), *shares(summary.problems)):
        console.print(Text(line), soft_wrap=True)
    if summary.iterations:
        console.print(iteration_table(summary.iterations, console.width), crop=False)
    text = console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
    if not summary.iterations:
        return text
    image = base64.b64encode(curve_bytes(summary)).decode()
    return f'{text}\n<img src="data:image/png;base64,{image}" width="720">'
