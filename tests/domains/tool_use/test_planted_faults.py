"""A small clean world, and faults planted in it one by one: the audit finds each, and nothing else.

A fault of a tool is the code of one more tool; a fault of a problem is one more problem.
"""

import importlib
import json
import sys

import pytest

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.errors import ConfigurationError, UnparsableAnswerError
from dataenvgym.records import TaskInstance
from tests.domains.tool_use.planted_faults import CLEAN, TOOL_FAULTS, module_of


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Writes a module and imports it."""

    def make(name, source):
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return make


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def problem(id, gold=(), said=None, instruction="Please do it.", **data):
    said = {} if said is None else {"basis": ["state", "said"], "said": said}
    data = {"world": "library", "gold": list(gold), **said, **data}
    return TaskInstance(id=id, task="t", instruction=instruction, data=data)


LEND = call("lend", book_id="book_1", reader="cleo")
READER = call("reader_of", book_id="book_5")
IN_BOOK_1 = {"book_id": "book_1"}
HAS = {"check": "has", "arguments": {"book_id": "book_1", "reader": "cleo"}}
SOUND = [
    problem("lend", [LEND], instruction="Cleo wants book_1."),
    problem("who", [call("reader_of", book_id="book_5")], ["ann"], "Who has it?", not_said=["bob"]),
    problem(
        "extend", [LEND, call("extend", book_id="book_1", days=20)], ["20 days"], "Let me have it."
    ),
    problem("two", [call("wish", reader="gina"), call("lend", book_id="book_2", reader="hugo")]),
]


TRIED = {"problems": 4, "random calls": 200, "extra writes": 24, "extreme calls": 80,
         "constant replies": 3, "mutations": 3}  # fmt: skip


def test_a_clean_world_with_sound_problems_has_no_findings(made, recwarn):
    done = audit(made("clean_library", CLEAN).Library(), SOUND)
    assert done.violations == []
    assert done.tried["calls in another process"] > 200
    assert not recwarn.list
    tried = {what: done.tried[what] for what in TRIED}
    assert tried == TRIED
    assert done.tried["changed arguments"] >= 20


FEW = ("today", "remember", "dice", "token", "hash_seed", "own_list", "overflow", "crash",
       "quiet_write")  # fmt: skip


@pytest.mark.parametrize("faults", [FEW, pytest.param([*TOOL_FAULTS], marks=pytest.mark.slow)])
def test_every_planted_fault_of_a_tool_is_found_by_the_name_of_the_tool(made, monkeypatch, faults):
    monkeypatch.setenv("LIBRARY", "open")
    world = made("faulty_library", module_of("faulty_library", faults)).Faulty()
    found = audit(world, SOUND[:2]).violations
    missed = {
        name: [str(each) for each in found if f" {name} " in f" {each.detail} "]
        for name, (check, part, _) in TOOL_FAULTS.items()
        if name in faults
        and not any(
            each.check == check and f" {name} " in f" {each.detail} " and part in each.detail
            for each in found
        )
    }
    assert not missed
    for sound in ("reader_of", "lend", "extend", "wish"):
        assert not [str(each) for each in found if f"tool {sound} " in each.detail]


GREEN = {"kind": "script", "states": {"start": [{"say": "The green one.", "stop": True}]}}
NOBODY = {"kind": "script", "states": {"start": [{"say": "And now?"}]}}


def asserting(check, expected=True, **arguments):
    one = {"check": check, "arguments": arguments, "expected": expected}
    return {"basis": ["assertions"], "assertions": [one]}


PROBLEM_FAULTS = {
    "gold that is refused": ("loads", [call("lend", book_id="book_5", reader="cleo")], {}),
    "gold with an unknown tool": ("loads", [call("borrow")], {}),
    "gold with a wrong argument": ("loads", [call("extend", book_id="book_1", days="two")], {}),
    "an unknown check": ("loads", [], asserting("had")),
    "an unknown row": ("loads", [LEND], {"state": {"books": {"book_99": None}}}),
    "an unknown field": ("loads", [LEND], {"state": {"bikes": {}}}),
    "a basis without data": ("loads", [LEND], {"basis": ["said"]}),
    "an assertion that gold breaks": ("gold", [LEND], asserting("is_lent", False, **IN_BOOK_1)),
    "a user who never leaves": ("gold", [LEND], {"user": NOBODY}),
    "gold without an effect": ("nothing", [call("reader_of", book_id="book_5")], {}),
    "no gold": ("nothing", [], {}),
    "what always holds": ("nothing", [LEND], asserting("is_lent", book_id="book_5")),
    "an argument without a check": ("argument", [LEND], asserting("is_lent", **IN_BOOK_1)),
    "words alone": (
        *("random calls", [call("reader_of", book_id="book_7")]),
        {"basis": ["said"], "said": ["bob"]},
    ),
    "words of the request": ("said", [LEND], {"said": ["do"]}),
    "words of the user": ("said", [LEND], {"said": ["green"], "user": GREEN}),
    "words of the policy": ("said", [LEND], {"said": ["two weeks"]}),
    "words of every answer": ("said", [LEND], {"said": ["Done"]}),
    "yes or no": ("said", [LEND], {"said": ["yes"]}),
    "a list says it": ("constant reply", [call("reader_of", book_id="book_7")], {"said": ["bob"]}),
    "the policy says it": ("constant reply", [READER], {"said": ["two weeks"]}),
    "another reply says it": ("constant reply", [READER], {"said": ["20 days"]}),
    "what a write beside it may do": ("extra write", [LEND], asserting("has", **HAS["arguments"])),
    "two ids": ("order", [call("wish", reader="gina"), call("wish", reader="hugo")], {}),
}
OF_THE_VERIFIER = {
    "drops the component 'assertions'": {"basis": ["state", "assertions"], "assertions": [HAS]},
    "forgets something": {"said": ["cleo", "cleo"]},
}
CHECK_FAULTS = {
    "raises": ("tools", "raised KeyError", "{}['x']"),
    "vague": ("tools", "returned 'yes'", "'yes'"),
    "writes": ("tools", "changed the state", "self.state.books.clear() or True"),
    "asks_the_clock": ("same twice", "asks time.time", "time.time() > 0"),
}


@pytest.mark.usefixtures("one_process")
def test_every_planted_fault_of_a_problem_is_found_by_its_id(made):
    world = made("clean_library", CLEAN).Library()
    faulty = [problem(id, gold, **fields) for id, (_, gold, fields) in PROBLEM_FAULTS.items()]
    found = audit(world, [*SOUND, *faulty]).violations
    by_id = {id: {v.check for v in found if v.problem == id} for id in PROBLEM_FAULTS}
    assert {
        id: by_id[id] for id, (check, *_) in PROBLEM_FAULTS.items() if check not in by_id[id]
    } == {}
    assert not [v for v in found if v.problem in {each.id for each in SOUND}]


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("finding", OF_THE_VERIFIER)
def test_a_part_of_a_verifier_that_never_decides_is_found(made, finding):
    world = made("clean_library", CLEAN).Library()
    found = audit(world, [problem("p", [LEND], **OF_THE_VERIFIER[finding])]).violations
    assert any(v.check == "verifier" and finding in v.detail for v in found)


@pytest.mark.usefixtures("one_process")
def test_every_planted_fault_of_a_check_is_found(made):
    lines = ["class Faulty(Library):"]
    for name, (_, _, code) in CHECK_FAULTS.items():
        lines += ["    @check", f"    def {name}(self) -> bool:", f"        return {code}"]
    world = made("faulty_checks", "\n".join([CLEAN, *lines])).Faulty()
    asserted = {
        name: {"basis": ["assertions"], "assertions": [{"check": name}]} for name in CHECK_FAULTS
    }
    found = audit(
        world, [problem(name, [LEND], **asserted[name]) for name in CHECK_FAULTS]
    ).violations
    for name, (check, part, _) in CHECK_FAULTS.items():
        assert any(v.problem == name and v.check == check and part in v.detail for v in found), name


CHANGING = {
    "initial()": """
    def initial(self):
        return Shelf(books={"book_1": {"days": next(counter)}})
""",
    "the gold calls have other results or another state": """
    @tool(writes=True)
    def lend(self, book_id: str, reader: str) -> str:
        \"\"\"Lend a book.\"\"\"
        self.state.notes += (str(datetime.datetime.now()),)
        return "lent"
""",
}


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("finding", CHANGING)
def test_a_first_state_or_two_replays_that_differ_are_found(made, finding):
    source = f"{CLEAN}\n\nclass Faulty(Library):{CHANGING[finding]}"
    found = audit(made("changing_library", source).Faulty(), SOUND[:1]).violations
    assert any(v.check == "same twice" and finding in v.detail for v in found)


@pytest.mark.usefixtures("one_process")
def test_problems_that_random_calls_solve_are_found(made):
    """Random calls reach what is asked for: two states only."""
    source = f"""{CLEAN}
class Switch(World[Shelf]):
    name = "library"

    def initial(self):
        return Shelf(books={{}})

    @tool(writes=True)
    def switch(self, on: bool) -> str:
        \"\"\"Switch.\"\"\"
        self.state.weight = float(on)
        return "done"
"""
    twenty = [problem(f"p{n}", [call("switch", on=False)]) for n in range(20)]
    found = audit(made("switches", source).Switch(), twenty).violations
    assert {each.check for each in found} == {"random calls"}


@pytest.mark.usefixtures("one_process")
def test_problems_are_audited_on_request_and_a_world_must_show_its_state(made, tmp_path):
    library, path = made("clean_library", CLEAN).Library, tmp_path / "problems.jsonl"
    path.write_text(json.dumps({"id": "idle", "instruction": "Look.", "gold": [READER]}))
    assert len(ToolUseTask(library(), {"validation": path}).instances) == 1
    with pytest.raises(UnparsableAnswerError, match="idle"):
        _ = ToolUseTask(library(), {"validation": path}, audit=True).instances
    hidden = type("Hidden", (library,), {"shows_state": False})
    with pytest.raises(ConfigurationError, match="does not show its state"):
        audit(hidden(), SOUND)


@pytest.mark.usefixtures("one_process")
def test_a_tool_has_the_name_of_its_attribute(made):
    source = f"""{CLEAN}
def plain(function):
    def wrapper(self, book_id: str) -> str:
        return function(self, book_id)
    return wrapper

class Wrapped(Library):
    @tool
    @plain
    def find(self, book_id):
        return self.found(book_id).reader or "here"
"""
    world = made("wrapped_library", source).Wrapped()
    assert [each.name for each in world.tools()] == list(world.methods)
    find = call("find", book_id="book_5")
    done = audit(world, [problem("find", [find], ["ann"], not_said=["bob"])])
    assert done.violations == []


def test_a_world_that_no_other_process_can_make_is_audited_with_a_warning(made, caplog):
    library = made("clean_library", CLEAN).Library
    Local = type("Local", (library,), {})
    done = audit(Local(), SOUND)
    assert done.violations == []
    assert done.tried["calls in another process"] == 0
    assert "library" in caplog.text
    assert "Local" in caplog.text
