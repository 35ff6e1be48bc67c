"""`dataenvgym new`: writes a folder with a new agent, task or domain to begin with."""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.groups import options_by_group

KINDS = {"agent": "agent", "task": "task", "domain": "task"}
"""The kinds of skeletons, and their groups of the configuration."""

_SKELETONS = Path(__file__).parent / "skeletons"
_IMPORT = re.compile(r"^(from dataenvgym\.cli\.skeletons\..*\n)((?:from .*\n)*)", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def new(
    kind: Literal["agent", "task", "domain"],
    name: str,
) -> None:
    """Write a new agent, task or domain to begin with.

    Examples:
      dataenvgym new agent weak_skills
      dataenvgym new task even_or_odd
      dataenvgym new domain sums

    The command writes a folder NAME with a module, a test that passes, and a YAML
    file for --config-dir.

    Args:
        kind: what to write
        name: of the module, such as weak_skills
    """
    _check(kind, name)
    folder = Path(name)
    if folder.exists():
        raise ConfigurationError(f"{folder} already exists: choose another name, or remove it")
    files = dict(_files(kind, name))
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    commands = (f"  {command}\n      {what}" for command, what in _next_commands(kind, name))
    lines = (f"{folder}/", *(f"  {path}" for path in files), "\nNext:", f"  cd {name}", *commands)
    for line in (*lines, f"\nThen change {name}.py: its docstrings say what each part is for."):
        Terminal().say(line)


def _check(kind: str, name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigurationError(
            f"the name is {name!r}, expected a name of a Python module: lower case letters, digits "
            "and single underscores, such as weak_skills"
        )
    group = KINDS[kind]
    if name in options_by_group()[group]:
        raise ConfigurationError(f"{group}={name} already exists: choose another name")
    if not Path(name).exists() and importlib.util.find_spec(name) is not None:
        raise ConfigurationError(
            f"there is a Python module {name!r} already, which yours would hide: choose another "
            "name"
        )


def _files(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """Each file's path in the folder, and its text."""
    for skeleton, path in (
        (f"my_{kind}.py", f"{name}.py"),
        (f"test_my_{kind}.py", f"test_{name}.py"),
        (f"my_{kind}.yaml", f"configs/{KINDS[kind]}/{name}.yaml"),
    ):
        text = (_SKELETONS / skeleton).read_text(encoding="utf-8")
        yield path, _named(text, kind, name)


def _named(text: str, kind: str, name: str) -> str:
    """The skeleton's text with the user's names."""
    words = name.removesuffix(f"_{kind}").split("_")
    prefix = "".join(word.capitalize() for word in words)
    text = _IMPORT.sub(r"\2\n\1", text)  # the user's own module is imported last
    text = text.replace(f"dataenvgym.cli.skeletons.my_{kind}", name)
    text = re.sub(rf"\bmy_{kind}\b", name, text)
    return re.sub(r"\bMy(Agent|Task|Domain|Environment|Source)\b", rf"{prefix}\1", text)


def _next_commands(kind: str, name: str) -> Iterator[tuple[str, str]]:
    group = KINDS[kind]
    yield f"python -m pytest test_{name}.py", "the test that comes with it"
    chosen = f"--config-dir configs {group}={name}"
    if kind == "agent":
        yield f"dataenvgym run {chosen} episode.iterations=1", "it teaches the pocket student"
        yield (
            f"dataenvgym study --config-dir configs agent=random,{name} seed=0,1,2",
            "compared with records drawn at random",
        )
        return
    yield f"dataenvgym eval {chosen}", "the pocket student tries it"
    yield f"dataenvgym run {chosen} agent=gold episode.iterations=1", "it is taught gold answers"
