"""The identity of an episode, and the format of its folder."""

import pytest
from pydantic import Field

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList
from dataenvgym.environments.episode_directory import identity_of
from dataenvgym.errors import FormatError, RunDirectoryError
from dataenvgym.records import TaskInstance
from dataenvgym.storage import read_json, write_json
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.workspace import FORMAT, read_identity, refuse_another


class Instance(TaskInstance):
    """As a later version, or somebody else, may have it."""

    tools: tuple[str, ...] = ()
    hints: list[str] = Field(default_factory=list)


class Problems:
    name = "problems"

    def __init__(self, *instances: TaskInstance) -> None:
        self.instances = instances


FIELDS = {"id": "a", "task": "problems", "instruction": "Say 1.", "answer": "1"}


def hash_of(instance: TaskInstance) -> object:
    return identity_of("e", task_of(Problems(instance)), None, {})["instances"]  # type: ignore[arg-type]


def test_a_new_optional_field_changes_no_hash_until_an_instance_uses_it():
    old = hash_of(TaskInstance(**FIELDS))
    assert old == "223831ec3772917c"  # of the first format
    assert hash_of(Instance(**FIELDS)) == hash_of(Instance(**FIELDS, tools=(), hints=[])) == old
    used = {hash_of(Instance(**FIELDS, tools=("t",))), hash_of(Instance(**FIELDS, hints=["h"]))}
    assert len({*used, old}) == 3


def test_a_run_is_not_continued_with_other_worked_examples():
    def identity(answer: str | None, when: str = "base") -> object:
        given = {"examples": [{"instruction": "1 + 1", "answer": answer}]} if answer else None
        task = PocketMathTask(n_validation=1, examples=given, examples_for=when)
        return identity_of("e", task, None, {}).get("examples")  # type: ignore[arg-type]

    assert identity(None) is None
    assert identity("2") == identity("2")
    assert len({identity("2"), identity("#### 2"), identity("2", "always")}) == 3


def test_a_run_of_another_format_is_refused_and_can_be_replaced(task, student, tmp_path):
    SkillList(task, student, directory=tmp_path).reset(seed=0)
    identity = read_json(tmp_path / "environment.json")
    write_json(tmp_path / "environment.json", {**identity, "format": FORMAT + 1})
    (tmp_path / "iterations" / "000" / "iteration.json").write_text('{"not": "ours"}')
    again = SkillList(task, student, directory=tmp_path)
    with pytest.raises(FormatError, match="newer"):
        again.reset(seed=0, options={"resume": True})
    again.reset(seed=0, options={"fresh": True})
    assert read_json(tmp_path / "environment.json")["format"] == FORMAT


@pytest.mark.parametrize(
    ("found", "age"),
    [(FORMAT + 1, "newer"), ("2026.1", "newer"), (FORMAT - 1, "older"), (None, "older")],
)
def test_a_format_that_this_program_does_not_read_is_refused(tmp_path, found, age):
    write_json(tmp_path / "environment.json", {"environment": "e", "task": "t", "format": found})
    with pytest.raises(FormatError, match=age):
        read_identity(tmp_path)


@pytest.mark.parametrize("content", [{}, [], {"task": "problems"}])
def test_an_identity_that_says_nothing_is_refused_by_name(tmp_path, content):
    write_json(tmp_path / "environment.json", content)
    with pytest.raises(RunDirectoryError, match=r"environment\.json"):
        refuse_another(tmp_path, {"environment": "e", "task": "problems"})
