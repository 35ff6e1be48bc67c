"""A few-shot problem: grids as demonstrations of a rule, and an input to apply it to.

A grid is written as rows of digits, with a space between two cells:

    Input:
    0 7 7
    7 0 7
    Output:
    7 0
    0 7

Demonstrations are separated by empty lines; the last output is missing. Data sets of such problems
name no skills, so `skill_of` reads them off the demonstrations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, ValidationError

from dataenvgym.records import Model

Cells = NDArray[np.int64]
"""A grid to calculate with, of shape (height, width)."""
LARGEST = 30
"""The most rows, and the most columns, of a grid."""
_IN_ROWS = frozenset("0123456789[], \t")
_ARRAY = re.compile(r"\[([^\[\]]*)\]")
_NESTED = re.compile(r"\[\s*+(?:\[[\d\s,]*+\][\s,]*+)++\]")
_MATRIX = re.compile(
    r"\\(?:begin|end)\{(?:[a-z]?matrix|array)\}(?:\{[clr|]*\})?+|\\\\\s*+|(?<=\d)\\n(?=\d)"
)
_TABLE = re.compile(
    r"\\(?:left|right)(?![a-z])|^[ ]*\|[|: -]+\|[ ]*\n|(?<=[\d|] )\||\|(?= \d)", re.M
)
_TEXTS = re.compile(r"(?<=[\[,])(\s*+)([\"'])(\d[\d ,]*+)\2(?=\s*+[\],])")
_BEFORE = re.compile(
    r"^.*(?:\\\w{1,9}\{|<\w{1,20}>|\b(?:output|answer|grid|row \d\d?)\b\W{1,9}?|[`*$\"])"
    r"(?=[\d\[])",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?<=[\d\]])[ ]?(?:</\w{1,20}>|<\|\w{1,20}\|>|[}\"`*$])+\.?$")


def _fault_of(rows: Sequence[Sequence[object]]) -> str | None:
    """Why these rows are not a grid, or None."""
    width = len(rows[0]) if rows else 0
    if not width:
        return "the grid is empty"
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            return f"row {number} has {len(row)} cells, and row 1 has {width}"
        for cell in row:
            if type(cell) is not int or not 0 <= cell <= 9:
                return f"a cell of row {number} is {cell!r:.20}, expected a digit"
    if max(len(rows), width) > LARGEST:
        return f"the grid is {len(rows)} x {width}, expected at most {LARGEST} x {LARGEST}"
    return None


def _checked(rows: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    if (fault := _fault_of(rows)) is not None:
        raise ValueError(fault)
    return rows


Grid = Annotated[
    tuple[tuple[Annotated[int, Field(strict=True)], ...], ...], AfterValidator(_checked)
]
"""Rows of digits, all of the same length."""


class Pair(Model):
    """An input and its output."""

    input: Grid
    output: Grid

    @property
    def text(self) -> str:
        return f"{_input_text(self.input)}\n{text_of(self.output)}"


class FewShotProblem(Model):
    """The data of an instance; the output for `input` is its answer, as text.

    Attributes:
        demonstrations: pairs that follow the rule.
        input: the grid to apply the rule to.
        view: the augmentation by which this is a view of another problem; "" for none.
    """

    demonstrations: tuple[Pair, ...] = Field(min_length=1)
    input: Grid
    view: str = ""

    @property
    def text(self) -> str:
        """The problem as the student reads it."""
        return "\n\n".join([*(p.text for p in self.demonstrations), _input_text(self.input)])


def text_of(grid: Grid) -> str:
    """The grid as rows of digits."""
    return "\n".join(" ".join(map(str, row)) for row in grid)


def cells_of(grid: Grid) -> Cells:
    """The grid as an array."""
    return np.array(grid, dtype=np.int64)


def grid_of(cells: Cells) -> Grid:
    """The array as a grid."""
    return tuple(map(tuple, cells.tolist()))


def read_grid(text: str) -> Grid | str:
    r"""The last grid in a reply; if there is none, or it is malformed, the reason.

    Rows are lines of digits, with or without spaces or commas between them, or arrays as in JSON.
    Other lines may come before and after the grid. It may be in `\boxed{}`, tags, emphasis or a
    LaTeX matrix, a table, behind "Output:", and an array anywhere in a text.
    """
    if "\\begin{" in text:
        text = text.replace("&", " ")
    text = _TEXTS.sub(lambda m: m[3] if len(m[3]) == 1 else f"[{m[3]}]", _TABLE.sub("", text))
    lines = _NESTED.sub(r"\n\n\g<0>\n\n", _MATRIX.sub("\n", text)).splitlines()
    block: list[str] = []
    for line in (_BEHIND.sub("", _BEFORE.sub("", line)) for line in reversed(lines)):
        if line.strip() and _IN_ROWS.issuperset(line):
            block.append(line)
        elif block:
            break
    if not block:
        return "there is no grid, expected rows of digits"
    block.reverse()
    joined = "\n".join(block)
    if joined.count("[") != joined.count("]"):
        return "an array is not closed, or not opened"
    parts = [row.replace(",", " ").split() for row in _ARRAY.findall(joined) or block]
    digits = [list(row[0]) if len(row) == 1 else row for row in parts]
    rows = tuple(tuple(int(d) if len(d) == 1 else d for d in row) for row in digits)
    return _fault_of(rows) or rows  # type: ignore[return-value]  # all are digits


def key_of(text: str) -> str | None:
    """Equal for texts of problems with the same demonstrations; None if it is not such a text."""
    *shown, last = _paragraphs(text) or [""]
    return "\n\n".join(sorted(shown)) if shown and last.endswith(_BETWEEN) else None


def read_problem(text: str) -> FewShotProblem | None:
    """The problem in a text of `FewShotProblem.text`, or None; other paragraphs are ignored."""
    paragraphs = _paragraphs(text)
    if len(paragraphs) < 2 or not all(_BETWEEN in p for p in paragraphs):
        return None
    grids = [[*map(read_grid, p[len(_BEGIN) :].split(_BETWEEN, 1))] for p in paragraphs]
    shown = [{"input": i, "output": o} for i, o in grids[:-1]]
    try:
        found = FewShotProblem.model_validate({"demonstrations": shown, "input": grids[-1][0]})
    except ValidationError:  # a part is not a grid
        return None
    return found if found.text == "\n\n".join(paragraphs) else None


def _paragraphs(text: str) -> list[str]:
    return [p for p in text.split("\n\n") if p.startswith(_BEGIN)]


_BEGIN, _BETWEEN = "Input:\n", "\nOutput:"


def _input_text(grid: Grid) -> str:
    return f"{_BEGIN}{text_of(grid)}{_BETWEEN}"


def skill_of(demonstrations: Iterable[Pair]) -> tuple[str, str]:
    """The skill and the category of a problem, as far as the demonstrations show them.

    The category compares the sizes of inputs and outputs; the skill is the first description that
    fits all demonstrations.
    """
    pairs = [(cells_of(pair.input), cells_of(pair.output)) for pair in demonstrations]
    if all(i.shape == o.shape for i, o in pairs):
        changes = np.unique(np.concatenate([10 * i.ravel() + o.ravel() for i, o in pairs]))
        if len(np.unique(changes // 10)) == len(changes):  # each color always becomes the same
            return "recolor", "same size"
        if all((i[i != o] == 0).all() for i, o in pairs):
            return "draw", "same size"
        if all((o[i != o] == 0).all() for i, o in pairs):
            return "erase", "same size"
        if all(np.array_equal(np.bincount(i.ravel()), np.bincount(o.ravel())) for i, o in pairs):
            return "move", "same size"
        return "change", "same size"
    if all(o.size < i.size for i, o in pairs):
        if all(o.size == 1 for _, o in pairs):
            return "name a color", "smaller"
        if all(_contains(i, o) for i, o in pairs):
            return "crop", "smaller"
        return "extract", "smaller"
    if all(o.size > i.size for i, o in pairs):
        if all(not o.shape[0] % i.shape[0] and not o.shape[1] % i.shape[1] for i, o in pairs):
            return "multiply", "larger"
        return "extend", "larger"
    return "resize", "other sizes"


def _contains(outer: Cells, inner: Cells) -> bool:
    if any(a < b for a, b in zip(outer.shape, inner.shape, strict=True)):
        return False
    windows = np.lib.stride_tricks.sliding_window_view(outer, inner.shape)
    return bool((windows == inner).all(axis=(2, 3)).any())
