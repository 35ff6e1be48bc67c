"""The list of abilities, and what of it is gone: `python -m tools.abilities BASE`.

BASE is a commit. Its abilities and those of the working tree are listed by the same code, each with
the package, pages and tests of its own tree; what BASE has and the tree lacks is printed, and the
command fails with 1. What moved is not gone: a command may be on another page, a public name in
another part, a test in another file.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

ROOT = Path(__file__).parents[1]
TESTS = {
    "kill": "kill kills killed killing sigkill resume resumes resumed resuming undisturbed",
    "parity": "parity original originals published upstream facts",
    "attack": "attack attacks hostile escape escapes malicious sandbox",
    "matrix": "matrix every",
}
"""A test is of a kind if one of these words is in its name, or in that of its file or folder."""

_OTHERS = "other tests"
_TESTS = (*(f"{kind} tests" for kind in TESTS), _OTHERS)

Abilities = dict[str, dict[str, str]]
"""By kind and name: where it was found."""


def main() -> int:
    """Print what is gone since a commit; 1 if anything is."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(f"usage: python -m tools.abilities BASE\n\n{__doc__}")
    with checkout(sys.argv[1]) as base:
        before, now = abilities_of(base), abilities_of(ROOT)
    lost = gone(before, now)
    for kind, names in lost.items():
        print(f"{kind}: {len(before[kind])} before, {len(now[kind])} now, {len(names)} gone")
        print(*(f"  {name}   ({where})\n" for name, where in names.items()), sep="", end="")
    return int(any(lost.values()))


def gone(before: Abilities, now: Abilities) -> Abilities:
    """The abilities before that are not there now; a test is there under any kind, also "other"."""
    tests = {name for kind in before if kind in _TESTS for name in now[kind]}
    return {
        kind: {
            name: where
            for name, where in names.items()
            if name not in (tests if kind in _TESTS else now[kind])
        }
        for kind, names in before.items()
        if kind != _OTHERS
    }


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A commit in a temporary worktree."""
    git = ("git", "-C", str(ROOT), "worktree")
    with TemporaryDirectory(prefix="abilities-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def abilities_of(tree: Path) -> Abilities:
    """The abilities of a tree, listed by a process that has its package and its entry points."""
    with TemporaryDirectory() as folder:
        setup = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", folder]
        subprocess.run(setup, cwd=tree, check=True, stderr=subprocess.DEVNULL)
        environment = os.environ | {"PYTHONPATH": f"{tree}:{folder}", "COLUMNS": "200"}
        done = subprocess.run(
            [sys.executable, "-P", __file__, "--list"],
            cwd=tree,
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
    found: Abilities = json.loads(done.stdout)
    return found


def abilities() -> Abilities:
    """The abilities of the tree in the current folder, from which the package is imported."""
    pages = import_module("tests.docs.pages")
    parts = import_module("docs.generate.api").PARTS
    commands = import_module("docs.generate.commands").commands_page()
    (command,) = entry_points(group="console_scripts", name="dataenvgym")
    with redirect_stdout(io.StringIO()) as listing:
        command.load()(["list"])
    public = {f"dataenvgym.{name}": "dataenvgym" for name in import_module("dataenvgym").__all__}
    for part in map("dataenvgym.{}".format, parts):
        public |= {name: part for name in public_names(import_module(part)) if name not in public}
    ids = [id for id in import_module("gymnasium").registry if id.startswith("dataenvgym/")]
    tests = tests_by_kind(
        (path.relative_to(Path.cwd()), path.read_text())
        for path in Path.cwd().glob("tests/**/*.py")
    )
    return {
        "commands of pages": {
            normalized(line): page
            for page in pages.PAGES
            if page != "CHANGELOG.md"  # it also names what was
            for line in pages.commands(page)
        },
        "short names": dict.fromkeys(short_names(listing.getvalue()), "dataenvgym list"),
        "public names": public,
        "gymnasium ids": dict.fromkeys(ids, "gymnasium.registry"),
        "arguments of commands": dict.fromkeys(arguments(commands), "dataenvgym --help"),
        **tests,
    }


def public_names(module: ModuleType) -> list[str]:
    """`__all__`, or what a module without it defines."""
    own = [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(value, "__module__", "") == module.__name__
    ]
    return list(getattr(module, "__all__", own))


def normalized(line: str) -> str:
    """A command with the same quotes whatever was written, and single spaces."""
    try:
        return shlex.join(shlex.split(line))
    except ValueError:  # a quote that another line closes
        return line


def short_names(listing: str) -> list[str]:
    """Each `group=name` of what `dataenvgym list` prints."""
    found, group = [], ""
    for line in listing.splitlines():
        if re.fullmatch(r"\S+=", line):
            group = line
        elif line[:1] not in (" ", "*"):
            group = ""
        elif group and (name := re.match(r"[ *] +(\S+)", line)):
            found.append(group + name[1])
    return found


def arguments(page: str) -> list[str]:
    """Each command of the reference page, alone and with each of its arguments."""
    found = []
    for section in page.split("\n## ")[1:]:
        name = section.partition("\n")[0]
        rows = re.findall(r"^\| (`.*?) \| ", section, re.MULTILINE)
        named = (argument for row in rows for argument in re.findall(r"`([^` ]+)[^`]*`", row))
        found += [name, *(f"{name} {argument}" for argument in named)]
    return found


def tests_by_kind(files: Iterable[tuple[Path, str]]) -> Mapping[str, dict[str, str]]:
    """The names of tests with their files, by the words of `TESTS`; the others too."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in _TESTS}
    for path, text in files:
        for name in re.findall(r"^\s*(?:async )?def (test_\w+)", text, re.MULTILINE):
            words = set(re.split(r"[/_.]", f"{path.with_suffix('')}/{name}"))
            kinds = [f"{kind} tests" for kind, known in TESTS.items() if words & {*known.split()}]
            for kind in kinds or [_OTHERS]:
                found[kind][name] = str(path)
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(json.dumps(abilities()))
    else:
        sys.exit(main())
