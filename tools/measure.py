"""Measures how thick the package is to read: `make measure`, or `python -m tools.measure`.

Code lines are lines without docstrings, comments and blank lines. The last rows trace one real step
of the default episode (`TeachingEnvironment.step`: records, training, evaluation), with frames
counted from `step`, which is 1 (frames of torch, PEFT and rich in between are left out); and what
`from dataenvgym import OpenEnded` imports.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import threading
import tokenize
from collections import Counter, defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dataenvgym"
_NOT_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
_THIN, _TINY = 60, 3


def main() -> None:
    """Print the table."""
    package = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    core = [path for path in package if PACKAGE / "domains" not in path.parents]
    trees = {path: ast.parse(source) for path, source in package.items()}
    tests = [path.read_text() for path in sorted((ROOT / "tests").rglob("*.py"))]
    code = sum(code_lines(package[path], trees[path]) for path in package)
    n_functions = sum(len(functions(tree)) for tree in trees.values())
    modules, called, depth = trace_step()
    rows = [
        ("core (without domains/): lines", sum(lines(package[path]) for path in core)),
        ("core: files", len(core)),
        ("package: lines", sum(map(lines, package.values()))),
        ("package: files", len(package)),
        ("package: code lines", code),
        ("code lines per function", f"{code / n_functions:.1f}"),
        (f"private functions of at most {_TINY} lines, used once", len(tiny(package, trees))),
        (f"files under {_THIN} lines with one importer", len(thin(package, trees))),
        ("one step: modules", modules),
        ("one step: functions", called),
        ("one step: frames deep", depth),
        ("modules that `from dataenvgym import OpenEnded` loads", imported("OpenEnded")),
        ("core files that name a shipped domain", len(naming_domains(package, core))),
        ("tests: code lines", sum(code_lines(source, ast.parse(source)) for source in tests)),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value if isinstance(value, str) else format(value, ','):>7}")


def lines(source: str) -> int:
    """The number of lines."""
    return source.count("\n")


def code_lines(source: str, tree: ast.Module) -> int:
    """The number of lines with code."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docs.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NOT_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - docs)


def functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods, also inner ones."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def tiny(package: dict[Path, str], trees: dict[Path, ast.Module]) -> list[str]:
    """Private functions with a body of at most three lines that one place uses."""
    words = Counter(word for source in package.values() for word in re.findall(r"\w+", source))
    found = []
    for path, tree in trees.items():
        for node in functions(tree):
            body = node.body[ast.get_docstring(node) is not None :]
            length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            is_private = node.name.startswith("_") and not node.name.startswith("__")
            if is_private and not node.decorator_list and length <= _TINY and words[node.name] == 2:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    return found


def thin(package: dict[Path, str], trees: dict[Path, ast.Module]) -> list[str]:
    """Small files that one other file imports."""
    importers: defaultdict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{a.name}" for a in node.names)):
                    importers[name].add(path)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    importers[alias.name].add(path)
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in package}
    return [
        f"{path.relative_to(ROOT)}"
        for path, source in package.items()
        if path.name != "__init__.py" and lines(source) < _THIN and len(importers[names[path]]) == 1
    ]


def naming_domains(package: dict[Path, str], core: list[Path]) -> list[str]:
    """Files of the core that import a domain, or name a module of one."""
    return [str(path.relative_to(ROOT)) for path in core if "domains." in package[path]]


def imported(name: str) -> int:
    """The number of the package's modules that one public name loads, in a new process."""
    code = (
        f"from dataenvgym import {name}; import sys;"
        "print(sum(m.partition('.')[0] == 'dataenvgym' for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def trace_step() -> tuple[int, int, int]:
    """Trace the training step of a short default episode.

    Returns:
        The numbers of modules and functions of the package that were called, and how many frames
        of it deep in the stack such a call was, at most.
    """
    from dataenvgym.cli.main import main as run_command
    from dataenvgym.environments.teaching import TeachingEnvironment

    called: set[tuple[str, str, int]] = set()
    depths: list[int] = []
    inside = f"{PACKAGE}/"

    def profile(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        is_function = not code.co_name.startswith("<")  # comprehensions, lambdas
        if event != "call" or not is_function or not code.co_filename.startswith(inside):
            return
        called.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        depth, above = 1, frame.f_back
        while above is not None and above.f_code is not step.__code__:
            depth += above.f_code.co_filename.startswith(inside)
            above = above.f_back
        depths.append(depth)

    original = TeachingEnvironment.step

    def step(self: Any, action: Any) -> Any:
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            return original(self, action)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]

    TeachingEnvironment.step = step  # type: ignore[method-assign]
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        few = ("episode.iterations=1", "task.n_validation=20", "task.n_test=20")
        if run_command(["run", f"runs_dir={folder}", *few]):
            raise SystemExit("the episode to trace failed")
    return len({file for file, _, _ in called}), len(called), max(depths)


if __name__ == "__main__":
    main()
