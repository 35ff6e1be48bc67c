"""Python syntax trees, and the names in them."""

from __future__ import annotations

import ast


def parsed(code: str) -> ast.Module | None:
    """The code's syntax tree, or None if it is not Python."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def names_read(tree: ast.AST) -> set[str]:
    """The names that code reads."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def names_bound(tree: ast.AST) -> set[str]:
    """The names that code binds, in any way and at any place."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
    return found


def behind_future_imports(code: str, text: str) -> str:
    """The code with the text inserted behind its `__future__` imports, which must come first."""
    tree = parsed(code)
    at = 0
    for node in tree.body if tree is not None else []:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            at = node.end_lineno or at
    lines = code.split("\n")
    return "\n".join([*lines[:at], *([text.removesuffix("\n")] if text else []), *lines[at:]])
