"""Shared by all labelers: one catalog for a run, kept in its directory."""

import pytest

from dataenvgym.agents.skills import ClusteredSkills, Skill, SkillCatalog, read_catalog
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.adapted_task import task_of


class Counting(ClusteredSkills):
    """Counts how often it discovers."""

    def __init__(self, **options):
        super().__init__(**options)
        self.discoveries = 0

    def discover(self, instances):
        self.discoveries += 1
        return super().discover(instances)


def test_skills_are_found_once_and_read_back_afterwards(task, tmp_path):
    first = Counting(task=task, directory=tmp_path)
    assert list(tmp_path.iterdir()) == []  # before it is needed
    labels = first.label(task.instances)
    assert first.label(task.instances) == labels
    again = Counting(task=task, directory=tmp_path)
    assert again.label(task.instances) == labels
    assert (first.discoveries, again.discoveries) == (1, 0)
    assert again.describe() == first.describe()
    assert read_catalog(tmp_path).hash == first.describe()["hash"]


@pytest.mark.parametrize(
    "change",
    [
        {"clusters": 7},
        {"seed": 5},
        {"splits": ["train"]},
        {"task": PocketMathTask(n_validation=120, seed=9)},
    ],
)
def test_a_catalog_that_was_made_otherwise_is_not_taken_up(task, tmp_path, change):
    Counting(task=task, directory=tmp_path).label(task.instances)
    other = Counting(**{"task": task, "directory": tmp_path, **change})
    before = read_catalog(tmp_path).hash
    assert other.describe()["hash"] != before
    assert other.discoveries == 1


def test_the_same_id_with_another_question_is_another_instance(task):
    labeler = ClusteredSkills(task=task)
    instance = task.instances[0]
    twin = instance.model_copy(update={"instruction": "How long is 1 2 3?"})
    one, other = labeler.label([instance, twin])
    assert one == labeler.label([instance])[0]
    length = next(i for i in task.instances if i.skill == "length")
    assert other == labeler.label([length])[0]


class Bare:
    """A task without instances."""

    name = "bare"


def test_a_task_without_instances_is_identified_by_its_first_labeled_questions(task):
    labeler = ClusteredSkills(task=task_of(Bare()), clusters=4)
    described = labeler.describe()
    assert "hash" not in described
    labels = labeler.label(task.instances)
    assert len({label.skill for label in labels}) == 4
    assert labeler.describe() == described
    assert labeler.label([]) == []


class Alphabet(Counting):
    """Places by the first letter: a new skill for each letter that is new."""

    def place(self, instances: list[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        return [Skill(name=i.instruction[0]) for i in instances]


def test_a_new_skill_becomes_one_of_the_known_ones(task, tmp_path):
    labeler = Alphabet(task=task, directory=tmp_path)
    strange = [
        TaskInstance(id=f"x{n}", task="t", instruction=text)
        for n, text in enumerate(("Xylophone?", "Yak?", "Xerxes?"))
    ]
    assert [label.skill for label in labeler.label(strange)] == ["X", "Y", "X"]
    again = Alphabet(task=task, directory=tmp_path)
    assert [label.skill for label in again.label(strange)] == ["X", "Y", "X"]
