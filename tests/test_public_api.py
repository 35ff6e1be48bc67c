"""The names of `from dataenvgym import ...`: they resolve, late, and type checkers know them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dataenvgym

ROOT = Path(__file__).parents[1]
SNIPPET = """
import dataenvgym
from dataenvgym import Agent, InProcessPredictor, OpenEnded, OpenEndedPolicy, PocketEngine
from dataenvgym import PocketMathTask, Summary, SupervisedDatum, TrainingDatum, run_episode

task = PocketMathTask(n_validation=10)
agent = Agent(OpenEndedPolicy(), PocketEngine(task), name="open_ended")
summary: Summary = run_episode(OpenEnded(task, InProcessPredictor()), agent, iterations=2)
record: TrainingDatum = SupervisedDatum(instruction="1 + 1?", output="2")
reveal_type(dataenvgym.Reply(text="2").text)
"""
MISTAKES = """
run_episode(OpenEnded(task, InProcessPredictor()), agent, iteration=2)
from dataenvgym import SkilList
dataenvgym.run_epsode
"""


def imported_for_type_checkers() -> dict[str, str]:
    """name -> module, of `if TYPE_CHECKING:` in `dataenvgym/__init__.py`."""
    tree = ast.parse((ROOT / "dataenvgym" / "__init__.py").read_text())
    blocks = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test)[0] == "T"]
    return {
        alias.name: str(statement.module)
        for block in blocks
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_each_public_name_is_what_type_checkers_take_it_for():
    modules = imported_for_type_checkers()
    assert {*modules, "register_environments"} == set(dataenvgym.__all__)
    for name, module in modules.items():
        assert getattr(dataenvgym, name) is getattr(import_module(module), name)
    assert sorted(dataenvgym.__all__) == dataenvgym.__all__
    assert set(dataenvgym.__all__) <= set(dir(dataenvgym))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'run_epsode'"):
        dataenvgym.run_epsode  # noqa: B018
    with pytest.raises(ImportError):
        exec("from dataenvgym import run_epsode")


def test_a_name_imports_its_part_of_the_package_and_nothing_heavy():
    code = (
        "import sys, dataenvgym\n"
        "def parts(): return {m.split('.')[1] for m in sys.modules if 'dataenvgym.' in m}\n"
        "print(sorted(parts()))\n"
        "from dataenvgym import SupervisedDatum\n"
        "print({'tasks', 'episodes', 'agents'} & parts())\n"
        "from dataenvgym import *\n"
        "print(run_study.__name__, [m for m in ('torch', 'hydra', 'transformers', 'matplotlib')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["['registration']", "set()", "run_study []"]


def test_the_page_about_stability_lists_each_public_name():
    page = (ROOT / "docs" / "api.md").read_text()
    table = page.partition("## Public names")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == dataenvgym.__all__


@pytest.mark.slow
def test_mypy_knows_the_types_of_public_names_and_flags_misspelled_ones(tmp_path):
    (tmp_path / "snippet.py").write_text(SNIPPET + MISTAKES)
    heavy = ("torch", "transformers", "peft", "scipy", "sympy", "matplotlib", "rich", "aiohttp")
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = true\n"
        + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in heavy)
        + "[mypy-dataenvgym.*]\nignore_errors = true\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "snippet.py", "--cache-dir", str(tmp_path / "cache")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert 'note: Revealed type is "str"' in done.stdout
    errors = re.findall(r"^snippet.py:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    first = len(SNIPPET.splitlines()) + 2
    assert [int(line) for line, _ in errors] == [first, first + 1, first + 2], done.stdout
    wrong = ('argument "iteration"', '"SkilList"', '"run_epsode"')
    assert all(name in text for name, (_, text) in zip(wrong, errors, strict=True)), done.stdout
