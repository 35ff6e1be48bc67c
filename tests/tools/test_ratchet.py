import json
import sys
from pathlib import Path

import pytest

from tools import ratchet

SHAPES = '''"""A docstring
of two lines."""
from typing import NamedTuple, Protocol
from pydantic import BaseModel


class Base(BaseModel):
    x: int

class Once(Base): ...

class Pair(NamedTuple):
    x: int

class Speaks(Protocol): ...

def _twice(): return Pair(1)  # comment

def _once(): return (Pair(_twice()), Once(x=_twice()))

def shown(self): return _once(), self._method()

class Agent:
    # comment
    def _method(self): ...
    def _unused(self): ...
'''


@pytest.fixture
def package(tmp_path):
    return packaged(tmp_path, {"shapes.py": SHAPES})


def packaged(root: Path, files: dict[str, str]) -> ratchet.Package:
    for name, text in files.items():
        path = root / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ratchet.read(root, "house")


def test_lines_uses_and_models_are_counted(package, tmp_path):
    assert ratchet.code_lines(package[Path("house/shapes.py")]) == 14
    assert [line.split()[1] for line in ratchet.used_once(package)] == ["_once", "_method"]
    assert ratchet.built_once(package) == ["Once"]
    package = packaged(tmp_path, {"a.py": 'PROMPT = """a: 1\nb: 2\n"""\n'})
    assert ratchet.code_lines(package[Path("house/a.py")]) == 3  # a text is no docstring


def test_a_cycle_is_found_inside_functions_and_for_a_type_checker(tmp_path):
    package = packaged(
        tmp_path,
        {
            "a.py": "import house.b",
            "b.py": "def f():\n    from house import c",
            "c.py": "if TYPE_CHECKING:\n    from house.a import A",
            "d.py": "from house.a import A",
        },
    )
    assert ratchet.cycles(ratchet.imports(package)) == [{"house.a", "house.b", "house.c"}]


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("raises(E, MATCH'the color is')", 0),
        ("raises(E, MATCH'the color is red, expected blue')", 1),
        ("raises(E, MATCHre.escape('the color is ' r'[red], expected'))", 1),
        ('raises(\n    E,\n    MATCH"the color is "\n    "red, expected blue",\n)', 1),
        ("raises(E, MATCHthe_color_is_red_expected_blue)", 0),
    ],
)
def test_a_long_literal_after_match_pins_a_sentence(line, count):
    assert ratchet.pinned(line.replace("MATCH", "match=")) == count


def test_a_count_above_its_record_or_without_one_is_named_and_records_only_fall():
    found = ratchet.above({"cli": 3, "runs": 5, "attic": 1}, {"cli": 3, "runs": 4})
    assert found == ["runs: recorded 4, now 5", "attic: recorded 0, now 1"]
    lowered = ratchet.lowered({"cli": 2, "runs": 5}, {"cli": 3, "runs": 4, "gone": 1})
    assert lowered == {"cli": 2, "runs": 4}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command where `cli` has 5 lines and `runs` 2; returns the exit code and the file."""
    file = tmp_path / "ratchet.json"
    file.write_text(json.dumps({"recorded": {"cli": 3, "runs": 4}, "raised": []}))
    monkeypatch.setattr(ratchet, "RECORDS", file)
    monkeypatch.setattr(ratchet, "counts", lambda _: {"cli": 5, "runs": 2})
    monkeypatch.setattr(ratchet, "read", dict)

    def run(*arguments: str):
        monkeypatch.setattr(sys, "argv", ["ratchet", *arguments])
        return ratchet.main(), json.loads(file.read_text())

    return run


def test_a_check_changes_nothing_an_update_lowers_and_a_raise_has_a_reason(command, capsys):
    assert command() == (1, {"recorded": {"cli": 3, "runs": 4}, "raised": []})
    assert "cli: recorded 3, now 5" in capsys.readouterr().out
    assert command("--update") == (1, {"recorded": {"cli": 3, "runs": 2}, "raised": []})
    raised = [{"name": "cli", "from": 3, "to": 5, "why": "a command for worlds"}]
    expected = {"recorded": {"cli": 5, "runs": 2}, "raised": raised}
    assert command("--raise", "cli", "a command for worlds") == (0, expected)
    with pytest.raises(SystemExit):  # it is not above its record
        command("--raise", "runs", "more room")
