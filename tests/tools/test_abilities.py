from pathlib import Path
from types import ModuleType

from tools import abilities

LISTING = """\
task=
 * pocket_math   Pocket math: 20 small procedural skills
   several       Several tasks as one:
                 task.tasks=[...]
agent/engine=
   none          No engine

gymnasium.make(...)
   dataenvgym/Math-v0

* is the default. Choose with GROUP=NAME: dataenvgym run agent=random
"""
COMMANDS = """\
# Commands

## run

| argument | meaning |
|---|---|
| `-h`, `--help` | Show this |
| `--name NAME` | A name |
| `KEY=VALUE` ... | Changes |

## list

| argument | meaning |
|---|---|
"""


def test_quotes_and_spaces_do_not_make_another_command():
    one = abilities.normalized("dataenvgym  run 'task.sources=[a, b]'")
    assert one == abilities.normalized('dataenvgym run "task.sources=[a, b]"')
    assert one != abilities.normalized("dataenvgym run task.sources=[a]")


def test_short_names_are_those_of_the_groups_alone():
    names = ["task=pocket_math", "task=several", "agent/engine=none"]
    assert abilities.short_names(LISTING) == names


def test_commands_are_listed_with_their_arguments():
    expected = ["run", "run -h", "run --help", "run --name", "run KEY=VALUE", "list"]
    assert abilities.arguments(COMMANDS) == expected


def test_public_names_are_those_of_all_or_defined_in_the_module():
    module = ModuleType("plans")
    exec("class Plan: ...\nclass _Own: ...\nfrom pathlib import Path", vars(module))
    assert abilities.public_names(module) == ["Plan"]
    vars(module)["__all__"] = ["Path"]
    assert abilities.public_names(module) == ["Path"]


def test_a_test_has_the_kinds_of_the_words_in_its_name_file_and_folder():
    found = abilities.tests_by_kind(
        [
            (Path("tests/sandbox/test_limits.py"), "def test_a_killed_run_is_counted(): ..."),
            (Path("tests/test_skills.py"), "class T:\n    async def test_a_skill(self): ..."),
        ]
    )
    assert found["kill tests"] == {"test_a_killed_run_is_counted": "tests/sandbox/test_limits.py"}
    assert found["attack tests"] == found["kill tests"]
    assert found["other tests"] == {"test_a_skill": "tests/test_skills.py"}


def test_what_is_nowhere_is_gone_and_what_moved_is_not():
    before = listed(kill={"test_killed": "a.py", "test_resumed": "a.py"}, other={"test_x": "a.py"})
    now = listed(other={"test_resumed": "b.py"})
    before["short names"] = {"task=one": "list", "task=two": "list"}
    now["short names"] = {"task=two": "list", "task=three": "list"}
    lost = {kind: names for kind, names in abilities.gone(before, now).items() if names}
    assert lost == {"kill tests": {"test_killed": "a.py"}, "short names": {"task=one": "list"}}


def listed(**kinds: dict[str, str]) -> abilities.Abilities:
    return {name: kinds.get(name.split()[0], {}) for name in abilities._TESTS}
