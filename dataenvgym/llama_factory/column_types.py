"""The types that LLaMA-Factory's JSON loader would infer for a file's columns.

LLaMA-Factory reads its files with `datasets`, which uses Arrow, and Arrow infers the type of each
column from the beginning of the file. Two inferences are wrong for training records. Both can be
recognized while the file is written:

- A text column whose first values all look like dates ("2024-03-05") becomes a column of
  timestamps. LLaMA-Factory then drops every row (a timestamp is not an answer), or the loader fails
  at the first text that is not a date.
- A list column that is empty in all of the first rows has no element type, and the loader fails
  at the first list that is not empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

# Broader than Arrow's own parser: a value that does not match is certainly text.
_LIKE_A_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d")

# Arrow infers from blocks of at least 320 KiB and settles a type after the first 10 MiB.
BEGINNING = 256 * 1024


class ColumnTypes:
    """Observes rows and finds the columns whose type the loader would infer wrongly.

    Attributes:
        watching: False once all columns are known to be right: then `see` need not be called.
    """

    def __init__(self) -> None:
        self.watching = True
        self._doubtful: dict[str, bool] = {}  # column -> whether a row has anything in it
        self._seen = 0

    def see(self, row: Mapping[str, Any], size: int) -> None:
        """Observe the next row, which is `size` bytes long."""
        if self._seen >= BEGINNING:
            for name in self._doubtful:
                if row[name]:
                    self._doubtful[name] = True
            return
        if not self._seen:
            self._doubtful = {k: False for k, value in row.items() if not isinstance(value, bool)}
        self._seen += size
        for name in tuple(self._doubtful):
            texts = list(_texts(row[name]))
            if any(_LIKE_A_TIMESTAMP.match(text) is None for text in texts):
                del self._doubtful[name]
            elif texts:
                self._doubtful[name] = True
        self.watching = bool(self._doubtful)

    def wrong(self) -> list[str]:
        """Names of the columns whose type the loader would infer wrongly, given all rows seen."""
        return sorted(name for name, filled in self._doubtful.items() if filled)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a column's value; in a turn ({"from": ..., "value": ...}), its value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield value["value"]
    else:
        for item in value:
            yield from _texts(item)
