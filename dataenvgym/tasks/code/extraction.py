"""The code in a student's reply, however it is wrapped.

In this order: the last complete fence that defines the entry point; a fence that was left open,
as far as it parses; the longest stretch of the text that parses and defines it; a fence, or the
text, as the body of the starter code; and, where nothing defines the entry point, the last fence.
Nothing is run here; what comes out need not be right, or even Python.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

_FENCE = re.compile(r"^[ \t]*(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_BEGINS = re.compile(
    r"^(?:def|class|import|from|async|@|(?:for|while|if|with|try)\b.*:|"
    r"[A-Za-z_][\w.\[\], \t]*[:+\-*/]?=|print\()"
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NEWLINE = re.compile(r"\r\n|\r|\n")  # Python's; str.splitlines has more
_PYTHON = ("", "python", "python3", "py", "py3", "pycon", "code")
_MOST_PARSES = 200
_LONGEST_SEARCHED = 100_000  # characters of a text without fences in which code is looked for


def extract_code(reply: str, entry_point: str | None = None, *, starter: str = "") -> str | None:
    """The code of a reply, or None if there is none.

    Args:
        entry_point: the name that the code has to define: a function or class, or
            `Class.method`; None for a whole program.
        starter: code that the reply may only complete: its first lines and a docstring, behind
            which the reply's body is put.
    """
    fences = [f for f in _fences(reply) if f.language in _PYTHON] or _fences(reply)
    complete = [fence.code for fence in fences if fence.is_complete]
    left_open = [fence.code for fence in fences if not fence.is_complete]
    if entry_point is None:
        parsing = [code for code in complete if _does_something(code)]
        return (
            next(reversed(parsing), None)
            or (next(reversed(complete), None) if not left_open else None)
            or next((prefix for code in left_open if (prefix := _longest_prefix(code))), None)
            or next(iter(left_open), None)
            or _stretch(reply)
        )
    for code in reversed(complete):
        if _defines(code, entry_point):
            return code
    for code in left_open:
        if (prefix := _longest_prefix(code)) and _defines(prefix, entry_point):
            return prefix
        if _defines(code, entry_point):
            return code
    if not fences and (stretch := _stretch(reply, entry_point)):
        return stretch
    for code in [*reversed(complete), *left_open, *([] if fences else [reply])]:
        if starter and (whole := _completed(starter, code)):
            return whole
    return next(reversed(complete), None) or next(iter(left_open), None)


@dataclass(frozen=True)
class _Fence:
    language: str
    code: str
    is_complete: bool


def _fences(text: str) -> list[_Fence]:
    """The fenced blocks, in order; the last one may have been left open."""
    found: list[_Fence] = []
    opening: re.Match[str] | None = None
    inside: list[str] = []
    for line in _NEWLINE.split(text):
        fence = _FENCE.match(line)
        if opening is None:
            if fence is not None:
                opening, inside = fence, []
        elif fence is not None and _closes(fence, opening):
            found.append(_fence(opening, inside, is_complete=True))
            opening = None
        else:
            inside.append(line)
    if opening is not None and any(line.strip() for line in inside):
        found.append(_closed_late(opening, inside) or _fence(opening, inside, is_complete=False))
    return found


def _closed_late(opening: re.Match[str], inside: list[str]) -> _Fence | None:
    """The fence whose closing marks stand behind its last line of code, if that is so."""
    for n, line in enumerate(map(str.rstrip, inside)):
        if line.endswith(opening["marks"]):
            last = line.removesuffix(opening["marks"])
            return _fence(opening, [*inside[:n], last], is_complete=True)
    return None


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    return fence["marks"].startswith(opening["marks"]) and not fence["info"].strip()


def _fence(opening: re.Match[str], inside: list[str], *, is_complete: bool) -> _Fence:
    words = re.split(r"[\s{:,]", opening["info"].strip().casefold(), maxsplit=1)
    indent = len(opening[0]) - len(opening[0].lstrip())
    margin = opening[0][:indent]
    return _Fence(
        language=words[0],
        code="".join(line.removeprefix(margin) + "\n" for line in inside),
        is_complete=is_complete,
    )


# --- what is Python -----------------------------------------------------------------------------


def parsed(code: str) -> ast.Module | None:
    """The code's syntax tree, or None if it is no Python."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _does_something(code: str) -> bool:
    """Whether it is Python and more than values, such as a sample of output may be."""
    tree = parsed(code)
    return tree is not None and any(
        not isinstance(n, ast.Expr) or isinstance(n.value, ast.Call) for n in tree.body
    )


def _error_line(code: str) -> int | None:
    """The line at which it stops being Python: None if it does not; 0 if that cannot be told."""
    try:
        ast.parse(code)
    except SyntaxError as error:
        return error.lineno or 0
    except (ValueError, RecursionError, MemoryError):
        return 0
    return None


def _defines(code: str, entry_point: str) -> bool:
    """Whether the code defines that name, as far as one sees; it may have errors elsewhere."""
    owner, _, name = entry_point.rpartition(".")
    if (tree := parsed(code)) is None:
        places = [rf"^\s*class\s+{re.escape(owner)}\b"] if owner else []
        places.append(rf"^\s*(?:async\s+)?(?:def|class)\s+{re.escape(name)}\b")
        return all(re.search(place, code, re.MULTILINE) for place in places)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == (owner or "Solution"):
            if any(_binds(part, name) for part in node.body):
                return True
        elif not owner and _binds(node, name):
            return True
    return not owner and any(isinstance(n, ast.ClassDef) and n.name == name for n in tree.body)


def _binds(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name == name
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


# --- code without a fence around it -------------------------------------------------------------


def _longest_prefix(code: str, *, before: str = "", tries: int = _MOST_PARSES) -> str | None:
    """The first lines of the code that parse, `before` put before them; None if not even one."""
    lines = _LINE.findall(code)
    offset = before.count("\n")
    while lines and tries > 0:
        bad = _error_line(before + "".join(lines))
        if bad is None:
            text = "".join(lines)
            return text if text.strip() else None
        tries -= 1
        # an error may be told of at a later line than the one to blame, but never at an earlier one
        keep = min(bad - offset - 1, len(lines) - 1) if bad > offset else len(lines) - 1
        lines = lines[: max(keep, 0)]
    return None


def _stretch(text: str, entry_point: str | None = None) -> str | None:
    """The longest run of lines that is Python, and defines the entry point where there is one."""
    text = textwrap.dedent(text[:_LONGEST_SEARCHED])
    if _does_something(text) and (entry_point is None or _defines(text, entry_point)):
        return _without_trailing_words(text)
    lines = _LINE.findall(text)
    found: list[str] = []
    place, tries = 0, _MOST_PARSES
    while place < len(lines) and tries > 0:
        stretch = None
        if _BEGINS.match(lines[place]):
            tries -= 1
            stretch = _longest_prefix("".join(lines[place:]), tries=10)
        if stretch is not None:
            found.append(_without_trailing_words(stretch))
        place += stretch.count("\n") if stretch else 1
    found = [s for s in found if entry_point is None or _defines(s, entry_point)]
    return max(found, key=len, default=None)


def _without_trailing_words(code: str) -> str:
    """Without lines at its end that are prose which happens to be Python, as `Explanation` is."""
    tree = parsed(code)
    nodes = tree.body if tree is not None else []
    while len(nodes) > 1 and _is_words(nodes[-1]):
        nodes.pop()
    lines = _NEWLINE.split(code)[: nodes[-1].end_lineno if nodes else None]
    return "\n".join(lines).rstrip() + "\n"


def _is_words(node: ast.stmt) -> bool:
    """Whether it is an expression that does nothing."""
    inner = node.value if isinstance(node, ast.Expr) else None
    return isinstance(inner, ast.Name | ast.Constant | ast.Attribute | ast.Tuple)


def _completed(starter: str, text: str) -> str | None:
    """The starter code with the text as its body, as far as that parses."""
    starter = starter.rstrip() + "\n"
    text = text.strip("\n") + "\n"
    if not text[:1].isspace():
        text = textwrap.indent(text, " " * _indent_of(starter))
    body = _longest_prefix(text, before=starter)
    return None if body is None or not _has_statement(body) else starter + body


def _indent_of(starter: str) -> int:
    last = starter.rstrip().splitlines()[-1] if starter.strip() else ""
    indent = len(last) - len(last.lstrip())
    return indent + 4 if last.endswith(":") else indent or 4


def _has_statement(body: str) -> bool:
    """Whether an indented body does anything."""
    tree = parsed(f"def _():\n{body}")
    function = tree.body[0] if tree is not None else None
    return isinstance(function, ast.FunctionDef) and not all(map(_is_words, function.body))
