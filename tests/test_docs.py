"""The pages of documentation: links lead somewhere, Python blocks run, commands compose.

`make docs` tests that the site builds without warnings, `tests/docs` the generated pages.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path

import pytest

from dataenvgym.cli.parser import parse_arguments
from dataenvgym.config import compose
from dataenvgym.config.bases import is_base
from dataenvgym.config.composition import files_by_group
from dataenvgym.evaluation.metrics import quoted_metrics
from dataenvgym.studies.grid import parse_grid
from docs.generate.pages import generated_pages

ROOT = Path(__file__).parents[1]
PAGES = {path.relative_to(ROOT): path.read_text() for path in sorted(ROOT.glob("docs/**/*.md"))}
AT_THE_TOP = (*sorted(path.name for path in ROOT.glob("*.md")), "llms.txt")
PAGES |= {Path(name): (ROOT / name).read_text() for name in AT_THE_TOP}
REDIS = "redis://127.0.0.1:6379/0"
TESTED_ELSEWHERE = ("README.md", "docs/sandbox.md", "docs/trying_records.md", "docs/quickstart.md")


def outside_of_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(text: str) -> set[str]:
    """GitHub's anchors of the headings, and those that headings name themselves."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    named = set(re.findall(r"\{#(\S+)\}", text))
    return named | {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


@cache
def generated() -> dict[Path, str]:
    """The pages that are made when the site is built, where they are in it."""
    return {ROOT / "docs" / path: text for path, text in generated_pages().items()}


def commands(text: str) -> list[str]:
    """The command lines of indented blocks and of `code` in a text, without comments."""
    blocks = re.findall(r"^ {4,}(dataenvgym .+)$", text.replace("\\\n", " "), re.MULTILINE)
    inline = re.findall(r"`(dataenvgym [^`\n]+)`", text)
    lines = [" ".join(re.split(r"\s+#(?!#)", line)[0].split()) for line in blocks + inline]
    return [line for line in lines if "..." not in line and len(line.split()) > 2]


LINKS = [
    (page, link)
    for page, text in PAGES.items()
    for link in re.findall(r"\]\(([^)\s]+)\)", outside_of_code(text))
    if not link.startswith(("http://", "https://"))
]
BLOCKS = [
    (page, block)
    for page, text in PAGES.items()
    if str(page) not in TESTED_ELSEWHERE and ' title="' not in text  # see test_guides.py
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    if "read_sotopia" not in block  # needs a dump of theirs; see tests/tasks/social
]
COMMANDS = sorted(  # each once, however many pages have it
    {
        line: page
        for page, text in PAGES.items()
        if page.name not in ("CHANGELOG.md", "from_dataenvgym.md")  # see test_from_dataenvgym.py
        for line in commands(text)
    }.items()
)


def test_there_are_links_blocks_and_commands():
    assert len(LINKS) > 30
    assert len(BLOCKS) > 4
    assert len(COMMANDS) > 50


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_each_link_leads_to_a_file_and_a_heading_that_there_are(page, link):
    target, _, anchor = link.partition("#")
    path = Path(os.path.normpath(ROOT / page.parent / target)) if target else ROOT / page
    assert path.exists() or path in generated(), f"{page} links to {link}"
    if anchor:
        text = path.read_text() if path.exists() else generated()[path]
        assert anchor in anchors(text), f"{page} links to {link}"


def test_each_page_is_linked_from_another_one():
    linked = {(page.parent / link.partition("#")[0]).as_posix() for page, link in LINKS}
    linked = {os.path.normpath(link) for link in linked}
    pages = {str(page) for page in PAGES if page.parts[0] == "docs"}
    assert pages - {"docs/index.md", "docs/reference/index.md"} <= linked


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_list_has_an_empty_line_above_it_or_the_site_shows_it_as_text(page):
    text = re.sub(r"^```.*?^```$", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    # 1 alone: other numbers at the beginning of a line may belong to a sentence
    items = re.findall(r"^(?![-*] |\d+\. |#|\s).+\n((?:[-*]|1\.) .*)", text, re.MULTILINE)
    assert items == []


@pytest.mark.parametrize(
    ("page", "block"), BLOCKS, ids=[f"{page.name}-{n}" for n, (page, _) in enumerate(BLOCKS)]
)
def test_each_python_block_runs(page, block, tmp_path, monkeypatch, request):
    if "tool_use.mcp" in block and importlib.util.find_spec("mcp") is None:
        pytest.skip("needs the extra [mcp]")
    if "pettingzoo" in block or "social.aec" in block:
        pytest.importorskip("pettingzoo", reason="needs the extra [pettingzoo]")
    if REDIS in block:
        block = block.replace(REDIS, request.getfixturevalue("redis_url"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    exec(compile(block, str(page), "exec"), {"__name__": "block"})


@pytest.mark.slow
@pytest.mark.parametrize(("line", "page"), COMMANDS)
def test_each_command_is_parsed_and_its_overrides_compose(line, page, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    arguments = parse_arguments(shlex.split(line)[1:])
    if getattr(arguments, "config_dir", None):
        return  # options of a reader's own: see test_guides.py
    if arguments.command == "study":
        parse_grid(arguments.overrides)
    elif arguments.command in ("run", "eval"):
        name = "eval" if arguments.command == "eval" else "config"
        compose([quoted_metrics(text) for text in arguments.overrides], name=name)


@pytest.mark.parametrize("group", ["agent", "agent/engine", "skills", "quality"])
def test_the_page_on_strategies_names_each_option(group):
    named = set(re.findall(r"`(?:[\w/]+=)?(\w+)`", PAGES[Path("docs/strategies.md")]))
    options = {name for name in files_by_group()[group] if not is_base(name)}
    assert options - named - {"custom"} == set()


def test_the_world_of_the_front_page_is_the_one_of_the_example():
    page = PAGES[Path("docs/tool_use.md")]
    (block,) = re.findall(r"```python\n.*?\n\n\n(.*?)```", page, flags=re.DOTALL)
    folder = ROOT / "examples" / "tool_use"
    assert block in (folder / "own_world.py").read_text()
    (problem,) = re.findall(r'^    (\{"id".*)$', page, flags=re.MULTILINE)
    assert problem in (folder / "own_world.jsonl").read_text().splitlines()
