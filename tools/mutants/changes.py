"""Small faults of the package's code, and where each of them is in a tree.

A fault is known by its function, the text of its line and the change, so it is found again after
its function has moved to another module or its line is broken elsewhere.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools.ratchet import Package

_FLIPPED = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_EMPTY = {
    **dict.fromkeys((ast.List, ast.ListComp), "[]"),
    **dict.fromkeys((ast.Dict, ast.DictComp), "{}"),
    **dict.fromkeys((ast.Tuple, ast.GeneratorExp), "()"),
    ast.JoinedStr: "''",
    ast.Set: "set()",
    ast.SetComp: "set()",
}
_FOR_PEOPLE = {"logger", "log", "warnings", "print"}
"""Calls of these say something to a person; tests do not pin sentences."""


class Mutant(NamedTuple):
    """A fault; `file` is where it was when it was drawn."""

    file: str
    function: str
    line: str
    kind: str
    before: str
    after: str


class Site(NamedTuple):
    """A place of a tree where a fault can be put."""

    mutant: Mutant
    number: int
    statement: ast.stmt
    old: ast.AST
    new: ast.AST


def sites(package: Package) -> Iterator[Site]:
    """All faults of a package's functions."""

    def visit(node: Any, parent: Any, names: tuple[str, ...], inside: Any) -> Iterator[Site]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            within = inside or not isinstance(node, ast.ClassDef)
            for child in node.body:
                yield from visit(child, node, (*names, node.name), within)
        elif inside and not _is_for_people(node):
            inside = node if isinstance(node, ast.stmt) else inside
            for kind, old, new in _changes(node, parent):
                place = str(path), ".".join(names), lines[old.lineno - 1].strip()
                mutant = Mutant(*place, kind, ast.unparse(old), ast.unparse(new))
                yield Site(mutant, old.lineno, inside, old, new)
            for field, child in ast.iter_fields(node):
                for one in child if isinstance(child, list) else [child]:
                    if field != "annotation" and isinstance(one, ast.AST):
                        yield from visit(one, node, names, inside)

    for path, module in package.items():  # noqa: B007
        lines = module.text.splitlines()
        for node in module.tree.body:
            yield from visit(node, module.tree, (), None)


def find(mutants: Collection[Mutant], package: Package) -> dict[Mutant, Site]:
    """The places of those mutants that a package still has."""
    known = defaultdict[tuple[str, ...], list[Site]](list)
    for site in sites(package):
        _, function, line, *change = site.mutant
        known[function, line, *change].append(site)
        known[function, *change].append(site)
    found = {}
    for mutant in mutants:
        file, function, line, *change = mutant
        if there := known[function, line, *change] or known[function, *change]:
            same = [s for s in there if Path(s.mutant.file).name == Path(file).name]
            found[mutant] = (same or there)[0]
    return found


def changed(package: Package, site: Site) -> dict[str, str]:
    """The text of the module that has the fault."""
    tree = package[Path(site.mutant.file)].tree
    text = ast.unparse(_Swap(site.old, site.new).visit(tree))
    _Swap(site.new, site.old).visit(tree)
    return {site.mutant.file: text}


def watched(package: Package, found: Mapping[str, Site]) -> dict[str, str]:
    """The texts of modules with `mutants_probe.hit(NAME)` ahead of each site; so are their trees.

    A call has no effect where the probe cannot be imported or cannot write, as in a sandbox.
    """
    probes = defaultdict[ast.AST, list[ast.stmt]](list)
    for name, site in found.items():
        call = f"import mutants_probe; mutants_probe.hit({name!r})"
        probes[site.statement] += ast.parse(f"try:\n {call}\nexcept Exception: pass").body
    texts = {}
    for file in {site.mutant.file for site in found.values()}:
        for node in ast.walk(tree := package[Path(file)].tree):
            for _, body in ast.iter_fields(node):
                if isinstance(body, list):
                    body[:] = [one for each in body for one in (*probes.get(each, ()), each)]
        texts[file] = ast.unparse(tree)
    return texts


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else super().visit(node)


def _changes(node: Any, parent: Any) -> Iterator[tuple[str, Any, Any]]:
    """The faults at a node: kind, what is replaced, by what."""
    kind = type(node)
    if kind is ast.Compare and len(node.ops) == 1:
        operator = type(node.ops[0])
        yield "comparison", node, _with(node, ops=[_FLIPPED[operator]()])
        if operator in _BOUNDARY:
            yield "boundary", node, _with(node, ops=[_BOUNDARY[operator]()])
    elif kind is ast.BoolOp:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", node, _with(node, op=other)
    elif kind is ast.UnaryOp and isinstance(node.op, ast.Not):
        yield "boolean", node, node.operand
    elif kind in (ast.If, ast.While, ast.IfExp):
        test = node.test
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            yield "boolean", test, ast.UnaryOp(ast.Not(), test)
    elif kind is ast.Return and node.value and not isinstance(node.value, ast.Constant):
        empty = _EMPTY.get(type(node.value), "None")
        new = _with(node, value=ast.parse(empty, mode="eval").body)
        if ast.unparse(new) != ast.unparse(node):
            yield "return", node, new
    elif kind is ast.Constant:
        if isinstance(node.value, bool):
            yield "constant", node, ast.Constant(not node.value)
        elif isinstance(node.value, int | float):
            edge = isinstance(parent, ast.Compare | ast.Slice | ast.Subscript | ast.BinOp)
            yield "boundary" if edge else "constant", node, ast.Constant(node.value + 1)
        elif isinstance(node.value, str) and " " not in node.value:  # a sentence is not pinned
            yield "constant", node, ast.Constant(node.value + "~")
    elif kind is ast.Expr and isinstance(node.value, ast.Call | ast.Await):
        yield "statement", node, ast.Pass()
    elif kind is ast.Call and node.keywords and node.keywords[-1].arg:
        yield "argument", node, _with(node, keywords=node.keywords[:-1])


def _is_for_people(node: Any) -> bool:
    """Whether a node is a sentence, as in an error."""
    call = getattr(node, "value", None) if isinstance(node, ast.Expr) else None
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert) or (
        isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[0] in _FOR_PEOPLE
    )


def _with(node: Any, **fields: Any) -> Any:
    """A copy of a node with other fields."""
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})
