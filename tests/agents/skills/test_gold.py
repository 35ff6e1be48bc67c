import pytest

from dataenvgym.agents.skills import FilledGoldSkills
from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.adapted_task import task_of
from tests.agents.skills.conftest import KeywordTeacher


class Patchy:
    """A task some of whose instances have no gold skill."""

    name = "patchy"

    def __init__(self, instances, every: int):
        self.instances = [
            i.model_copy(update={"skill": None, "category": None}) if n % every == 0 else i
            for n, i in enumerate(instances)
        ]


def test_gold_skills_stay_and_the_others_get_that_of_the_most_similar(task):
    patchy = Patchy(task.instances, every=7)
    labels = FilledGoldSkills(task=task_of(patchy)).label(patchy.instances)
    right = [
        label == (i.skill, i.category) for label, i in zip(labels, task.instances, strict=True)
    ]
    missing = [i.skill is None for i in patchy.instances]
    assert sum(missing) == 18
    assert all(r for r, m in zip(right, missing, strict=True) if not m)
    assert sum(r for r, m in zip(right, missing, strict=True) if m) >= 15


def test_a_teacher_chooses_for_them_if_there_is_one(task):
    patchy = Patchy(task.instances, every=7)
    teacher = KeywordTeacher()
    labeler = FilledGoldSkills(task=task_of(patchy), teacher=teacher)
    labels = labeler.label(patchy.instances)
    filled = [x.skill for x, i in zip(labels, patchy.instances, strict=True) if i.skill is None]
    assert all(skill.startswith("do ") for skill in filled)
    assert "ascending" in teacher.asked[0]
    assert labeler.catalog.counts == {"questions": 120, "unknown to the catalog": 18}


def test_a_task_without_any_gold_skill_is_refused_with_the_way_out(task):
    with pytest.raises(ConfigurationError, match="skills=clusters"):
        FilledGoldSkills(task=task_of(Patchy(task.instances, every=1))).label(task.instances)
