from pathlib import Path
from types import ModuleType

from tools import abilities

LISTING = """\
task=
*  pocket_math   Pocket math: 20 small procedural skills
   several       Several tasks as one
agent/engine=
   none          No engine

gymnasium.make(...)
dataenvgym/Math-v0

* is the default
"""
COMMANDS = """\
# Commands

## run

| argument | meaning |
|---|---|
| `-h`, `--help` | Show this |
| `KEY=VALUE` ... | Changes |
"""


def test_names_commands_and_tests_are_read_from_what_lists_them():
    one = abilities.normalized("dataenvgym  run 'task.sources=[a, b]'")
    assert one == abilities.normalized('dataenvgym run "task.sources=[a, b]"')
    names = ["task=pocket_math", "task=several", "agent/engine=none"]
    assert abilities.short_names(LISTING) == names
    assert abilities.arguments(COMMANDS) == ["run", "run -h", "run --help", "run KEY=VALUE"]
    module = ModuleType("plans")
    exec("class Plan: ...\nclass _Own: ...\nfrom pathlib import Path", vars(module))
    assert abilities.public_names(module) == ["Plan"]
    tests = [(Path("tests/sandbox/test_limits.py"), "def test_a_killed_run_is_counted(): ...")]
    found = abilities.tests_by_kind(tests)
    assert found["kill tests"] == {"test_a_killed_run_is_counted": "tests/sandbox/test_limits.py"}
    assert found["attack tests"] == found["kill tests"]


def test_what_is_nowhere_is_gone_and_what_moved_is_not():
    before = listed(kill={"test_killed": "a.py", "test_resumed": "a.py"}, other={"test_x": "a.py"})
    now = listed(other={"test_resumed": "b.py"})
    before["short names"] = {"task=one": "list", "task=two": "list"}
    now["short names"] = {"task=two": "list", "task=three": "list"}
    lost = {kind: names for kind, names in abilities.gone(before, now).items() if names}
    assert lost == {"kill tests": {"test_killed": "a.py"}, "short names": {"task=one": "list"}}


def listed(**kinds: dict[str, str]) -> abilities.Abilities:
    return {name: kinds.get(name.split()[0], {}) for name in abilities._TESTS}
