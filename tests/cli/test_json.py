"""Commands that show something: their documents as JSON, for scripts."""

import json
import shutil
from pathlib import Path

import pytest

from dataenvgym.cli.console import Terminal
from dataenvgym.cli.doctor import Look, parts
from dataenvgym.domains.tool_use.worlds import problems_of
from dataenvgym.runs.documents import File, Line, Quote, Table, show

KINDS = {kind.__name__.lower(): kind for kind in (Line, Table, Quote, File)}


@pytest.fixture
def results(run, dataenvgym, small, monkeypatch):
    """A run, two evaluations and a damaged one; what the doctor looks at prints something, too."""
    for name in "ab":
        dataenvgym.succeeds("eval", *small[:3], f"name={name}")
    shutil.copytree("evaluations/a", "damaged/c")
    Path("damaged/c/results.json").write_text("{")
    looks = {"python": Look(lambda: print("looking") or "there", "")}
    monkeypatch.setattr("dataenvgym.cli.doctor.looks", lambda runs: looks | parts())
    # other processes, whose start takes a second, do not repeat the calls
    monkeypatch.setattr("dataenvgym.domains.tool_use.audit.compare_processes", lambda tools: None)
    few = Path(problems_of("wallet")).read_text().splitlines(keepends=True)[:3]
    Path("few.jsonl").write_text("".join(few))


def test_json_has_all_that_the_terminal_shows_and_is_alone_on_stdout(results, dataenvgym, capsys):
    for command, code in {
        "list": 0,
        "list agent": 0,
        "doctor": 0,
        "external list": 0,
        "worlds list": 0,
        "worlds audit wallet --tasks few.jsonl": 0,
        "report r": 0,
        "show r": 0,
        "export r --output d": 0,
        "compare r": 0,
        "compare evaluations/a evaluations/b --output c": 0,
        "summary": 0,
        "summary damaged evaluations": 2,
        "pareto --by seconds --plot p.png": 0,
    }.items():
        shown = dataenvgym(*command.split())
        shutil.rmtree("d", ignore_errors=True)
        found = dataenvgym(*command.split(), "--json")
        show([KINDS[part.pop("kind")](**part) for part in json.loads(found.out)], Terminal())
        assert capsys.readouterr().out == shown.out.replace("looking\n", ""), command
        assert (found.code, found.err.replace("looking\n", "")) == (code, shown.err), command
        assert len(shown.out) > 1
