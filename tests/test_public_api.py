"""The names of `from dataenvgym import ...`; see `test_typing.py` for their types in mypy."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import dataenvgym
from tests.processes import python

ROOT = Path(__file__).parents[1]


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


def test_each_public_name_has_the_type_that_type_checkers_see():
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
        "print({'tasks', 'runs', 'agents'} & parts())\n"
        "from dataenvgym import *\n"
        "print(run_study.__name__, [m for m in ('torch', 'hydra', 'transformers', 'matplotlib')"
        " if m in sys.modules])"
    )
    assert python("-c", code, check=True).stdout.splitlines() == [
        "['errors', 'registration']",
        "set()",
        "run_study []",
    ]


def test_the_page_about_stability_lists_each_public_name():
    page = (ROOT / "docs" / "reference" / "index.md").read_text()
    table = page.partition("## Public names")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == dataenvgym.__all__
