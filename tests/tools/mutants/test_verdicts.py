from collections import Counter
from pathlib import Path

import pytest

from tools.mutants.__main__ import DRAWN, Verdict, choose, draw, moved, report
from tools.mutants.changes import Mutant, Site
from tools.mutants.suite import Outcome
from tools.ratchet import read

NEAR, DEAR, FAR = "tests/runs/test_a.py::", "tests/runs/test_b.py::", "tests/cli/test_c.py::"
SECONDS = {NEAR + "one": 1, NEAR + "two": 2, DEAR + "three": 14, FAR + "four": 0.1, "tests/d.py": 0}
FILE = "dataenvgym/runs/shops.py"


def test_a_fault_meets_tests_that_come_by_its_rooms_first_within_the_budget():
    suite = Outcome(SECONDS, (), {"7": [FAR + "four", DEAR + "three", NEAR + "two"]})
    expected = [NEAR + "two", DEAR + "three", FAR + "four", NEAR + "one"]
    assert (choose(FILE, suite, "7"), choose(FILE, suite, "8")) == (expected, [])
    dear = {**SECONDS, NEAR + "two": 100.0}
    chosen = choose(FILE, Outcome(dear, (), {"7": [*dear]}), "7")
    assert chosen == [DEAR + "three", NEAR + "one", "tests/d.py", FAR + "four"]
    test = "tests/sandbox/test_limits.py::test_time"  # of code in a sandbox
    suite = Outcome({**SECONDS, test: 1.0}, (), {})
    assert choose("dataenvgym/sandbox/inside/limits.py", suite, "7") == [test]


def test_a_test_is_found_in_the_file_that_has_it_now(tmp_path):
    (tmp_path / "tests/new").mkdir(parents=True)
    (tmp_path / "tests/new/test_shops.py").write_text("def test_price(n):\n    pass\n")
    assert (
        moved("tests/test_shop.py::test_price[1::2]", tmp_path)
        == "tests/new/test_shops.py::test_price[1::2]"
    )
    assert moved("tests/test_shop.py::test_gone", tmp_path) is None


def test_faults_are_drawn_in_proportion_to_code_lines_and_from_lines_of_both(tmp_path):
    for room, n in (("runs", 30), ("cli", 10)):
        (folder := tmp_path / "dataenvgym" / room).mkdir(parents=True)
        code = "".join(f"    x[{i}] = a[{i}] == {i}\n" for i in range(n - 1))
        (folder / "one.py").write_text(f"def {room}(x, a):\n{code}")
    package = read(tmp_path)
    drawn = draw(package, package, 20)
    assert Counter(Path(fault.file).parts[1] for fault in drawn) == {"runs": 15, "cli": 5}
    assert len({(fault.function, fault.line) for fault in drawn}) == 20
    assert drawn == draw(package, package, 20)
    with pytest.raises(IndexError):
        draw(package, {}, 20)


def test_the_report_names_what_is_not_noticed_any_more():
    one, two, gone = (
        Mutant("dataenvgym/runs/a.py", name, "x", "return", "x", "y") for name in "abc"
    )
    found = {
        one: (Site(one, 1, None, None, None), Verdict("test_one", 1)),
        two: (Site(two, 2, None, None, None), Verdict(None, 7)),
    }
    lines = [*report(found, {one: None, two: "test_two", gone: "test_gone"})]
    assert [line.split()[1:] for line in lines if line.startswith("runs ")] == [
        ["3", "2", "1", "1"]
    ]
    assert [line for line in lines if "unnoticed" in line] == [
        "unnoticed by 7 tests; before by test_two: dataenvgym/runs/a.py:2 x  ->  y"
    ]


def test_300_faults_are_kept():
    assert len(DRAWN.read_text().splitlines()) == 300
