"""Counts that may only fall: `make lint-ratchet`, or `python -m tools.ratchet`.

`ratchet.json` has the recorded number of each count, and the aims of some: the code lines of each
room of the package and of what is beside it, and how often the package does what makes it thick to
read. A count above its record fails.

    python -m tools.ratchet                                  # compare with the records
    python -m tools.ratchet --update                         # lower records to today's counts
    python -m tools.ratchet --raise agents "reads batches"   # raise one; the reason is kept

Code lines are lines without docstrings, comments and blank lines.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
RECORDS = Path(__file__).with_name("ratchet.json")

ROOMS = (
    *("records", "sandbox", "teachers", "tasks", "students", "environments", "agents", "runs"),
    *("domains", "studies", "adaptation", "cli"),
)
"""The rooms, ground floor first. A module at the top belongs to `records`."""

BESIDE = ("configs", "docs/generate", "external", "tools")
TEXTS = {".yaml", ".html", ".js", ".css", ".jinja", ".txt"}
"""Files beside Python whose lines count."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LONG = 25
_STRING = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_MATCH = re.compile(rf"\bmatch=\(?\s*(?:re\.escape\(\s*)?((?:\w?{_STRING}\s*)+)")
_SET = re.compile(r"(\w+) ?[=:]")


class Module(NamedTuple):
    """A Python file: its tree, and all nodes of it by their type."""

    text: str
    tree: ast.Module
    nodes: Mapping[type, list[Any]]


Package = Mapping[Path, Module]
"""By path, relative to the folder that has the package."""


def read(root: Path = ROOT, package: str = "dataenvgym") -> Package:
    """Read and parse a package."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        nodes = defaultdict(list)
        tree = ast.parse(text := path.read_text())
        for node in ast.walk(tree):
            nodes[type(node)].append(node)
        found[path.relative_to(root)] = Module(text, tree, nodes)
    return found


def counts(package: Package, root: Path = ROOT) -> dict[str, int]:
    """All counts by name: rooms, what is beside the package, then the others."""
    lines = Counter(dict.fromkeys((*ROOMS, *BESIDE), 0))
    for path, module in package.items():
        lines[room_of(path)] += code_lines(module)
    for path in (root / "dataenvgym").rglob("*"):
        if path.suffix in TEXTS - {".txt"} and "weights" not in path.parts:
            lines[room_of(path.relative_to(root))] += _text_lines(path)
    for folder in BESIDE:
        modules = read(root, folder).values()
        texts = (path for path in (root / folder).rglob("*") if path.suffix in TEXTS)
        lines[folder] = sum(map(code_lines, modules)) + sum(map(_text_lines, texts))
    tests = (root / "tests").rglob("*.py")
    elsewhere = (path for path in tests if root / "tests/cli" not in path.parents)
    top = {path.parts[1] for path in package}
    slots, places = options(root)
    knots = cycles(imports(package))
    return {
        **lines,
        "raise statements": len(list(_all(package, ast.Raise))),
        "sentences pinned by match=": sum(pinned(path.read_text()) for path in elsewhere),
        "private functions used once": len(used_once(package)),
        "data classes built at one place": len(built_once(package)),
        "option slots": slots,
        "options set nowhere": list(places.values()).count("nowhere"),
        "Protocols": sum("Protocol" in _bases(n) for n in _all(package, ast.ClassDef)),
        "lazy cycles": len(knots),
        "modules in lazy cycles": sum(map(len, knots)),  # two cycles that join are one
        "YAML files": sum(1 for _ in (root / "configs").rglob("*.yaml")),
        "folders at the top": sum(not name.endswith(".py") for name in top),
        "modules at the top": sum(name.endswith(".py") for name in top - {"__init__.py"}),
        "methods of Domain": sum(
            isinstance(method, _FUNCTIONS) and not method.name.startswith("__")
            for node in _all(package, ast.ClassDef)
            if node.name == "Domain"
            for method in node.body
        ),
    }


def room_of(path: Path) -> str:
    """The room of a file of the package: its folder."""
    folder = path.parts[1]
    return folder if len(path.parts) > 2 else "records"


def code_lines(module: Module) -> int:
    """The number of lines with code."""
    docs: set[int] = set()
    for node in chain(*(module.nodes[kind] for kind in (ast.Module, ast.ClassDef, *_FUNCTIONS))):
        if ast.get_docstring(node, clean=False) is not None:
            docs.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(module.text.splitlines(), 1)
    return sum(is_code(line) and number not in docs for number, line in lines)


def is_code(line: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return not line.lstrip().startswith("#") and bool(line.strip())


def _text_lines(path: Path) -> int:
    return sum(map(is_code, path.read_text().splitlines()))


def pinned(test: str) -> int:
    """How many `match=` in a test file have a literal of more than 25 characters."""
    literals = (re.findall(_STRING, found[1]) for found in _MATCH.finditer(test))
    return sum(sum(len(part) - 2 for part in parts) > _LONG for parts in literals)


def used_once(package: Package) -> list[str]:
    """Private functions that one place of their module uses, and methods of the package."""
    uses, everywhere = {}, Counter[str]()
    for path, module in package.items():
        uses[path] = Counter(node.id for node in module.nodes[ast.Name])
        uses[path].update(node.attr for node in module.nodes[ast.Attribute])
        everywhere.update(uses[path])
    return [
        f"{path}:{node.lineno} {node.name}"
        for path, module in package.items()
        for node in chain(*(module.nodes[kind] for kind in _FUNCTIONS))
        if re.match("_[^_]", node.name)
        and not node.decorator_list
        and (uses[path] if node in module.tree.body else everywhere)[node.name] == 1
    ]


def built_once(package: Package) -> list[str]:
    """Dataclasses, named tuples and pydantic models that one place builds."""
    bases = {node.name: _bases(node) for node in _all(package, ast.ClassDef)}
    models, before = {"BaseModel", "NamedTuple", "dataclass"}, 0
    while len(models) > before:
        before = len(models)
        models |= {name for name, of in bases.items() if of & models}
    built = Counter(_name(call.func) for call in _all(package, ast.Call))
    return sorted(name for name in models & set(bases) if built[name] == 1)


def imports(package: Package) -> dict[str, set[str]]:
    """The modules that each module imports: also inside functions, and for a type checker alone."""
    names = {path: ".".join(path.with_suffix("").parts) for path in package}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    known = set(names.values())
    found: dict[str, set[str]] = {}
    for path, module in package.items():
        targets = {alias.name for node in module.nodes[ast.Import] for alias in node.names}
        for node in module.nodes[ast.ImportFrom]:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            targets |= inner & known or {node.module}
        found[names[path]] = targets & known - {names[path]}
    return found


def cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules of which each one reaches the others (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        open_.append(name)
        for target in graph[name]:
            if target not in order:
                visit(target)
            if target in open_:
                lowest[name] = min(lowest[name], lowest[target])
        if lowest[name] == order[name]:
            group = set(open_[open_.index(name) :])
            del open_[open_.index(name) :]
            if len(group) > 1:
                found.append(group)

    for name in graph:
        if name not in order:
            visit(name)
    return found


def options(root: Path = ROOT) -> tuple[int, dict[str, str]]:
    """The number of options of classes with a name or in a YAML file, and where each name is set.

    That is the first of: a key of a YAML file; `name=` or `name:` in a page, an example, a test; or
    "nowhere".
    """
    from dataenvgym.runs.config.groups import ENTRY_POINTS
    from dataenvgym.runs.config.values import class_options, sections

    found: dict[str, set[str]] = {}
    places: dict[str, str] = {}
    for path in (root / "configs").rglob("*.yaml"):
        for _, section in sections(yaml.load(path.read_text(), yaml.CSafeLoader)):
            places |= dict.fromkeys(map(str, section), "yaml")
            target = str(section.get("_target_", section.get("id")))
            found.setdefault(target, set()).update(class_options(section))
    named = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]
    for entries in ENTRY_POINTS.values():
        for target in (name.replace(":", ".") for name in named.get(entries, {}).values()):
            found.setdefault(target, set()).update(class_options({"_target_": target}))
    for pattern in ("README.md", "docs/**/*.md", "examples/**/*.py", "tests/**/*.py"):
        place = pattern.partition("/")[0].replace("README.md", "docs")
        for path in root.glob(pattern):
            places = dict.fromkeys(_SET.findall(path.read_text()), place) | places
    names = sorted(set().union(*found.values()))
    return sum(map(len, found.values())), {name: places.get(name, "nowhere") for name in names}


def _all(package: Package, kind: type) -> Iterator[Any]:
    return (node for module in package.values() for node in module.nodes[kind])


def _bases(node: ast.ClassDef) -> set[str]:
    """The names of bases and decorators."""
    return {_name(base) for base in (*node.bases, *node.decorator_list)}


def _name(node: ast.AST) -> str:
    """The last name of `a.b`, `a.b[...]` and `a.b(...)`."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return str(getattr(node, "attr", getattr(node, "id", "")))


def above(now: Mapping[str, int], recorded: Mapping[str, int]) -> list[str]:
    """A line for each count that is above its record."""
    return [
        f"{name}: recorded {recorded.get(name, 0):,}, now {count:,}"
        for name, count in now.items()
        if count > recorded.get(name, 0)
    ]


def lowered(now: Mapping[str, int], recorded: Mapping[str, int]) -> dict[str, int]:
    """The records after `--update`; none rises, and one without a count goes."""
    return {name: min(now[name], count) for name, count in recorded.items() if name in now}


def main() -> int:
    """Compare, lower or raise the records; 1 if a count is above its record."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="lower records to today's counts")
    parser.add_argument("--raise", nargs=2, metavar=("NAME", "WHY"), dest="raised")
    arguments = parser.parse_args()
    now = counts(read())
    records: dict[str, Any] = json.loads(RECORDS.read_text())
    recorded = records["recorded"]
    if arguments.raised:
        name, why = arguments.raised
        if now.get(name, 0) <= recorded.get(name, 0):
            parser.error(f"{name!r} is not a count above its record")
        step = {"name": name, "from": recorded.get(name, 0), "to": now[name], "why": why}
        records["raised"].append(step)
        recorded[name] = now[name]
    if arguments.update:
        records["recorded"] = recorded = lowered(now, recorded)
    if arguments.update or arguments.raised:
        RECORDS.write_text(json.dumps(records, indent=2) + "\n")
    if below := [name for name, count in recorded.items() if now.get(name, 0) < count]:
        print(
            f"Lower than recorded: {', '.join(below)}. python -m tools.ratchet --update keeps it."
        )
    if lines := above(now, recorded):
        print("These counts may only fall (tools/ratchet.py):", *lines, sep="\n  ")
        print('A new ability may cost lines: python -m tools.ratchet --raise NAME "WHICH ABILITY"')
        return 1
    return 0


if __name__ == "__main__":
    gc.disable()  # trees are many small objects that live to the end: three times as fast
    sys.exit(main())
