"""What pages tell people to type beside `dataenvgym`: targets, modules, files and extras."""

import importlib.util
import re

from tests.docs.pages import PAGES, ROOT

CODE = {
    page: "\n".join(re.findall(r"^ {4,}.*$|`[^`\n]+`", text, re.MULTILINE))
    for page, text in PAGES.items()
}


def named(pattern: str) -> list[tuple[str, str]]:
    """What the pattern finds in the code of pages, each with the first page that has it."""
    found = {name: page for page, text in CODE.items() for name in re.findall(pattern, text)}
    return sorted(found.items())


TARGETS = named(r"\bmake (?:\w+=\S+ )*([a-z][\w-]*)")
MODULES = named(r"\bpython -m ((?:benchmarks|dataenvgym|docs)[\w.]*)")
FILES = named(r"(?<![\w/.=])((?:examples|tests|benchmarks|configs|docs)/[\w./-]*\w)(?![\w*{<])")
NOT_IN_GIT = ("benchmarks/results/sandbox.json",)
EXAMPLES = ("tests/PART", "tests/agents/quality/test_x.py")
EXTRAS = named(r"dataenvgym\[(\w[\w-]*)\]")


def test_there_are_some_of_each():
    assert [len(found) > 3 for found in (TARGETS, MODULES, FILES)] == [True] * 3
    assert EXTRAS


def test_a_target_of_make_is_in_the_makefile():
    targets = re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    there = set(" ".join(targets).split())
    assert [named for named in TARGETS if named[0] not in there] == []


def test_a_module_that_is_run_is_there():
    assert [named for named in MODULES if not importlib.util.find_spec(named[0])] == []


def test_a_file_that_is_named_is_there():
    elsewhere = (*NOT_IN_GIT, *EXAMPLES)
    assert [n for n in FILES if n[0] not in elsewhere and not (ROOT / n[0]).exists()] == []


def test_an_extra_is_one_of_the_package():
    extras = (ROOT / "setup.py").read_text().partition("extras_require={")[2]
    assert [named for named in EXTRAS if f'"{named[0]}": [' not in extras] == []
