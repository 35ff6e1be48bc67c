"""A suite of three tests in a repository of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SHOP = "def price(n):\n    return n * 2\n\n\ndef closed():\n    return False\n"
TESTS = """
import subprocess, sys
import pytest, shop

@pytest.fixture(scope="module")
def two():
    return shop.price(1)

def test_price(two):
    assert two == 2

def test_program():
    code = "import shop; assert shop.price(1) == 2"
    subprocess.run([sys.executable, "-c", code], check=True)
"""
CLOSED = """
import resource, shop

def test_closed():
    assert not shop.closed()

def test_a_sandbox_may_have_a_higher_limit():
    assert resource.getrlimit(resource.RLIMIT_CPU)[1] != 1
"""
PROBED = "import mutants_probe\n" + SHOP.replace(
    "    return n", "    mutants_probe.hit(5)\n    return n"
)
PROGRAM = """
import json, sys
from pathlib import Path
from tools.mutants import suite

suite.ROOT, suite._CPU = Path(sys.argv[1]), 1
slot = suite.Slot(Path(sys.argv[2]), "HEAD")
jobs = [suite.Job(*job) for job in json.load(sys.stdin)]
suite.run_all(jobs, [slot], lambda job, outcome: print(json.dumps([job.name, *outcome])))
assert (slot.tree / "shop.py").read_text() == (suite.ROOT / "shop.py").read_text()
slot.close()
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """By name: which tests passed, which failed, and which came by the probe."""
    root = tmp_path_factory.mktemp("shop")
    (root / "shop.py").write_text(SHOP)
    (root / "test_shop.py").write_text(TESTS)
    (root / "test_closed.py").write_text(CLOSED)
    (root / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='shop', py_modules=['shop'])\n"
    )
    git = ["git", "-C", str(root), "-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "A shop"]):
        subprocess.run([*git, *command], check=True)
    dear = {"shop.py": SHOP.replace("2", "3")}
    endless = {"shop.py": SHOP.replace("return False", "while 1: 0")}
    jobs = [
        ["probed", ["test_shop.py", "test_closed.py"], {"shop.py": PROBED}],
        ["dear", ["test_shop.py::test_program"], dear],
        ["stops", ["test_shop.py"], dear, True],
        ["unseen", ["test_closed.py::test_closed"], dear],
        ["endless", ["test_closed.py::test_closed"], endless],
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, root, root / "work"],
        input=json.dumps(jobs),
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = {}
    for line in done.stdout.splitlines():
        name, seconds, failed, hits = json.loads(line)
        found[name] = [
            {test.partition("::")[2] for test in of} for of in (seconds, failed, hits.get("5", ()))
        ]
    return found


def test_probes_tell_who_comes_by_and_faults_reach_programs_and_end_endless_runs(outcomes):
    passed, failed, came_by = outcomes["probed"]
    assert (len(passed), failed, came_by) == (4, set(), {"test_price", "test_program"})
    assert outcomes["dear"] == [set(), {"test_program"}, set()]
    assert outcomes["stops"] == [set(), {"test_price"}, set()]  # at the first test that fails
    assert outcomes["unseen"] == [{"test_closed"}, set(), set()]
    assert outcomes["endless"][1]
