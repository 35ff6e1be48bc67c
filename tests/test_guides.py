"""Pages whose files, Python blocks and commands run as a reader would type them, in an empty folder.

A block with a title is a file: ```python title="my_agent.py".
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataenvgym.cli.main import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^ {4}dataenvgym (.+)$", re.MULTILINE)
PAGES = {
    page.name: page.read_text()
    for page in sorted((ROOT / "docs").glob("*.md"))
    if ' title="' in page.read_text()
}
NOT_HERE = re.compile(r"openai|vllm|llama_factory|my_module|=mine|http|executor=ray|student=hf")
SHORT = ("episode.iterations=1", "task.n_validation=20", "task.n_test=20")
SHORT_AGENT = "agent.records_per_iteration=20"


def files_of(page: str) -> dict[str, str]:
    return {title: text for _, title, text in BLOCK.findall(PAGES[page]) if title}


def blocks_of(page: str) -> list[str]:
    return [t for kind, title, t in BLOCK.findall(PAGES[page]) if kind == "python" and not title]


def commands_of(page: str) -> list[list[str]]:
    """What can run here: without a server, a key, or a program that is not installed."""
    lines = COMMAND.findall(PAGES[page].replace("\\\n", " "))
    shown = [line.partition("  #")[0] for line in lines if not NOT_HERE.search(line)]
    return [shlex.split(line) for line in shown]


def shortened(command: list[str]) -> list[str]:
    """The command with a smaller task, fewer records and one iteration."""
    if command[0] not in ("run", "eval"):
        return command
    words = " ".join(command)
    pocket = "task=" not in words or "task=pocket" in words
    short = [key for key in SHORT if pocket or key.startswith("episode")]
    own_agent = re.search(r"agent=\w+\.", words) or "agent=none" in words
    short += [] if own_agent or command[0] == "eval" else [SHORT_AGENT]
    given = {word.partition("=")[0] for word in command}
    return [*command, *(key for key in short if key.partition("=")[0] not in given)]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty folder, as the current one; modules that are imported from it are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write_files(page: str, folder: Path) -> None:
    for name, text in files_of(page).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_there_are_pages_with_files_blocks_and_commands():
    assert len(PAGES) >= 8
    assert sum(len(blocks_of(page)) for page in PAGES) >= 5
    assert sum(len(commands_of(page)) for page in PAGES) >= 12


@pytest.mark.parametrize("page", list(PAGES))
def test_the_files_of_a_page_can_be_imported_and_fit_the_width_of_a_page(page, folder):
    write_files(page, folder)
    for name, text in files_of(page).items():
        assert max(map(len, text.splitlines())) <= 100, f"{page}: {name}"
        if name.endswith(".py") and "import torch" not in text:
            exec(compile(text, name, "exec"), {"__name__": "imported"})


@pytest.mark.slow
@pytest.mark.parametrize("page", list(PAGES))
def test_a_page_works_from_top_to_bottom(page, folder, capfd):
    write_files(page, folder)
    for block in blocks_of(page):
        exec(compile(block, page, "exec"), {"__name__": "block"})
    for command in commands_of(page):
        assert main(shortened(command)) == 0, f"{command}: {capfd.readouterr().err}"
