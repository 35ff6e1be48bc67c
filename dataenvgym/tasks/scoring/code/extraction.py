"""Finds the code in a student's reply, however it is wrapped.

The texts of a reply (see `replies`) are searched in turn until code is found. Candidates are, in
this order: complete fences, the last one first; unclosed fences, as far as they parse; stretches of
the text around fences that parse, the longest one first; and the code of any of these that is the
transcript of a session. The first candidate that defines the entry point with a body is the code;
definitions that it needs from other fences are added (see `helpers`). Otherwise it is a candidate
that works as the body of the starter code, else the first one with at least the head of the entry
point, else the last fence. If a whole program is wanted, it is the first candidate that writes
output. Nothing is run here; the code may be wrong, or not even be Python.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import partial

from dataenvgym.tasks.scoring.code.replies import (
    NEWLINE,
    PYTHON,
    code_of_transcript,
    fences_in,
    texts_of,
    visible,
)
from dataenvgym.tasks.scoring.code.syntax import parse, parsed, with_helpers

_BEGINS = re.compile(
    r"^(?:def|class|import|from|async|@|(?:for|while|if|with|try)\b.*:|"
    r"[A-Za-z_][\w.\[\], \t]*[:+\-*/]?=|print\()"
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_DOES = ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr
LONGEST_CODE = 60_000
"""Characters of the longest code that counts as an answer."""
_MOST_PARSED = 150_000  # characters of one reply that are parsed in search of code
_LONGEST_SEARCHED = 20_000  # characters of the text around fences that are searched for code


def extract_code(reply: str, entry_point: str | None = None, *, starter: str = "") -> str | None:
    """The code of a reply, or None if there is none.

    Words around it that happen to parse as Python, such as `[DONE]` or `Explanation`, are left out.
    It takes linear time; code of more than `LONGEST_CODE` characters is no answer.

    Args:
        entry_point: the name that the code must define: a function or class, or
            `Class.method`; None for a whole program.
        starter: code that the reply may only complete: its first lines and a docstring. A reply
            that is only a body is put behind it.
    """
    parser = _Parser()
    code = _found(reply, entry_point, starter, parser)
    if (code is None or parser.tree(code) is None) and (seen := visible(reply)) != reply:
        code = _found(seen, entry_point, starter, parser) or code
    return code


def _found(reply: str, entry_point: str | None, starter: str, parser: _Parser) -> str | None:
    found: str | None = None
    for text in texts_of(reply):
        if (code := _code_in(text, entry_point, starter, parser)) is None:
            continue
        if found is None:
            found = code
        elif found.strip() and code.startswith(found.rstrip()) and parser.tree(code):
            found = code  # the end-of-turn mark was inside a string of the code
        else:
            continue
        if parser.tree(found) is not None:
            break
    return _without_words(found, parser) if found is not None else None


def _code_in(text: str, entry_point: str | None, starter: str, parser: _Parser) -> str | None:
    fences, around = fences_in(text)
    fences = [fence for fence in fences if len(fence.code) <= LONGEST_CODE]
    fences = [fence for fence in reversed(fences) if fence.language in PYTHON] or fences[::-1]
    complete = [fence.code for fence in fences if fence.is_complete]
    left_open = [fence.code for fence in fences if not fence.is_complete]

    def pieces() -> Iterator[str]:
        for code in complete:
            yield code
            yield from _transcripts(code, entry_point, parser)
        for code in left_open:
            if prefix := parser.longest_prefix(code):
                yield prefix
            yield code
            yield from _transcripts(code, entry_point, parser)
        yield from _stretches(around, parser)
        if entry_point is not None:
            yield from _transcripts(around, entry_point, parser)

    is_it: Callable[[str], bool] = partial(_writes, parser)
    may_be_it: Callable[[str], bool] = partial(_does_something, parser)
    if entry_point is not None:
        is_it = partial(_defines, parser, entry_point)
        may_be_it = partial(_announces, entry_point)
    seen: list[str] = []
    for code in pieces():
        if is_it(code):
            return with_helpers(code, complete[::-1], parser.tree)
        seen.append(code)
    if starter and entry_point is not None:
        bodies = [code for code in [*complete, *left_open] if not may_be_it(code)]
        for code in bodies if fences else [text]:
            if whole := _completed(starter, code, parser):
                return with_helpers(whole, complete[::-1], parser.tree)
    return next(filter(may_be_it, seen), None) or next(iter([*complete, *left_open]), None)


# --- what is Python -----------------------------------------------------------------------------


class _Parser:
    """Parses texts of one reply, each of them once, within a budget of characters."""

    left = _MOST_PARSED

    def __init__(self) -> None:
        self._trees: dict[str, ast.Module | None] = {}

    def tree(self, code: str) -> ast.Module | None:
        """The code's syntax tree; None if it is not Python, too long, or the budget is spent."""
        if code not in self._trees:
            is_read = self.left > 0 and len(code) <= LONGEST_CODE
            self._trees[code] = parsed(code) if is_read else None
            self.left -= len(code) if is_read else 0
        return self._trees[code]

    def longest_prefix(self, code: str, *, before: str = "") -> str | None:
        """The first lines that parse behind `before`; None if not even one does."""
        lines = _LINE.findall(code[:LONGEST_CODE])
        offset = before.count("\n")
        while lines and self.left > 0:
            text = "".join(lines)
            self.left -= len(before) + len(text)
            try:
                parse(before + text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                bad = (error.lineno or 0) if isinstance(error, SyntaxError) else 0
            else:
                return text if text.strip() else None
            # the parser may report a later line than the faulty one, never an earlier one
            keep = min(bad - offset - 1, len(lines) - 1) if bad > offset else len(lines) - 1
            lines = lines[: max(keep, 0)]
        return None


def _is_words(node: ast.stmt) -> bool:
    """Whether the statement does nothing, like prose that happens to parse as Python."""
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    return isinstance(node, ast.Expr) and not any(isinstance(n, _DOES) for n in ast.walk(node))


def _does_something(parser: _Parser, code: str) -> bool:
    """Whether it is Python and more than values; a sample of output may be only values."""
    tree = parser.tree(code)
    return tree is not None and not all(map(_is_words, tree.body))


def _writes(parser: _Parser, code: str) -> bool:
    """Whether it is Python that writes output, as far as its syntax shows."""
    tree = parser.tree(code)
    return tree is not None and any(
        (isinstance(node, ast.Name) and node.id == "print")
        or (isinstance(node, ast.Attribute) and node.attr in ("write", "writelines"))
        for node in ast.walk(tree)
    )


def _defines(parser: _Parser, entry_point: str, code: str) -> bool:
    """Whether the code defines that name, as far as its syntax shows; errors elsewhere are allowed.

    A function without a body counts as announced, not as defined.
    """
    head = f"{code.rstrip()}\n{' ' * 80}pass"  # if it ends with the head of a function
    tree = parser.tree(code) or parser.tree(head)
    if tree is None:
        return _announces(entry_point, code)
    owner, _, name = entry_point.rpartition(".")
    nodes = [] if owner else list(tree.body)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == (owner or "Solution"):
            nodes += node.body
    return any(_binds(node, name) for node in nodes)


def _announces(entry_point: str, code: str) -> bool:
    """Whether the code has the head of that function or class; it need not parse."""
    owner, _, name = entry_point.rpartition(".")
    places = [rf"^[ \t]*class[ \t]+{re.escape(owner)}\b"] if owner else []
    places.append(rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(name)}\b")
    return all(re.search(place, code, re.MULTILINE) for place in places)


def _binds(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name == name and not _is_empty(node.body)
    if isinstance(node, ast.ClassDef):
        return node.name == name
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _is_empty(body: list[ast.stmt]) -> bool:
    nothing = ast.Pass | ast.Import | ast.ImportFrom
    return all(isinstance(node, nothing) or _is_words(node) for node in body)


def _transcripts(text: str, entry_point: str | None, parser: _Parser) -> Iterator[str]:
    """The text's code if the text is a transcript of a session, which is not Python itself."""
    if ">>>" in text and parser.tree(text) is None:
        code = code_of_transcript(text, with_shown=entry_point is None)
        yield from [code] if code is not None else []


# --- code without a fence around it -------------------------------------------------------------


def _stretches(text: str, parser: _Parser) -> list[str]:
    """The runs of lines that are Python, the longest one first."""
    if _does_something(parser, text):
        return [text.strip("\n") + "\n"]
    lines = _LINE.findall(text[:_LONGEST_SEARCHED] + "\n")
    found: list[str] = []
    place = 0
    while place < len(lines) and parser.left > 0:
        stretch = None
        begun = lines[place].lstrip(" \t")
        margin = lines[place].removesuffix(begun)
        is_block = not margin or place == 0 or not lines[place - 1].strip()
        if is_block and _BEGINS.match(begun):
            rest = lines[place:]  # up to the first line without that margin
            end = next(
                (n for n, s in enumerate(rest) if s.strip() and not s.startswith(margin)), None
            )
            block = "".join(line.removeprefix(margin) for line in rest[:end])
            stretch = parser.longest_prefix(block)
        if stretch is not None:
            found.append(stretch)
        place += stretch.count("\n") if stretch else 1
    return sorted(found, key=len, reverse=True)


def _without_words(code: str, parser: _Parser) -> str:
    """The code without the lines of prose before and behind it."""
    tree = parser.tree(code)
    nodes = tree.body if tree is not None else []
    lines = NEWLINE.split(code)
    first, last = 0, len(nodes)
    while last > 1 and _is_words(nodes[last - 1]):
        last -= 1
    while first < last - 1 and _is_words(node := nodes[first]):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            break  # a docstring
        first += 1
    begin = nodes[first - 1].end_lineno if first else 0
    end = nodes[last - 1].end_lineno if last < len(nodes) else None
    return "\n".join(lines[begin:end]).rstrip() + "\n"


# --- a reply that is only a body ----------------------------------------------------------------


def _completed(starter: str, text: str, parser: _Parser) -> str | None:
    """The starter code with the text as its body, as far as that parses."""
    starter = starter.rstrip() + "\n"
    text = text.strip("\n") + "\n"
    if not text[:1].isspace():
        head = starter.strip() and starter.splitlines()[-1]
        indent = len(head) - len(head.lstrip())
        text = textwrap.indent(text, " " * (indent + 4 if head.endswith(":") else indent or 4))
    body = parser.longest_prefix(text, before=starter)
    if body is None or (tree := parsed(f"def _():\n{body}")) is None:
        return None
    is_empty = isinstance(tree.body[0], ast.FunctionDef) and _is_empty(tree.body[0].body)
    return None if is_empty else starter + body
