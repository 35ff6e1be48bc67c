"""Skills by clustering, held against pocket math's gold skills."""

import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from dataenvgym.agents.skills import ClusteredSkills
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.records import TaskInstance
from dataenvgym.tasks import Task


class Written(Task):
    """A task of these questions."""

    name = "written"

    def __init__(self, *questions: str):
        super().__init__()
        self.questions = questions

    def load(self, split):
        return [
            TaskInstance(id=f"{i}", task=self.name, instruction=q, answer="1")
            for i, q in enumerate(self.questions)
        ]

    def make_environment(self):
        return MathEnvironment(self.instances)


@pytest.mark.parametrize("seed", [0, 1])
def test_clusters_of_wording_agree_with_gold_skills(seed):
    task = PocketMathTask()
    labeler = ClusteredSkills(task=task, seed=seed)
    for split in ("validation", "test"):
        instances = task.on(split).instances
        gold = [i.skill for i in instances]
        found = [label.skill for label in labeler.label(instances)]
        assert adjusted_rand_score(gold, found) > 0.75  # measured: .85 to .89
        assert normalized_mutual_info_score(gold, found) > 0.88  # measured: .93 to .95
        categories = [label.category for label in labeler.label(instances)]
        gold = [i.category for i in instances]
        assert adjusted_rand_score(gold, categories) > 0.3  # measured: .46 to .60


def test_the_same_seed_gives_the_same_catalog(task):
    catalogs = [ClusteredSkills(task=task, seed=seed).catalog for seed in (3, 3, 4)]
    assert catalogs[0] == catalogs[1]
    assert catalogs[0].hash == catalogs[1].hash != catalogs[2].hash


def test_names_are_telling_words_and_all_different(task):
    skills = ClusteredSkills(task=task).catalog.skills
    assert len(skills) == len({s.name for s in skills}) == 20
    assert any("backwards" in s.name for s in skills)
    assert len({s.category for s in skills}) == 5
    assert not any(character.isdigit() for s in skills for character in s.name)


def test_there_are_no_more_clusters_than_different_questions():
    labeler = ClusteredSkills(task=Written("Add 1 and 2.", "Add 3 and 4.", "Sort 1 2."))
    catalog = labeler.catalog
    assert len(catalog.skills) == 2
    first, second, third = (label.skill for label in catalog.labels)
    assert first == second != third


@pytest.mark.parametrize("questions", [("?",), ("1 2 3", "4 5 6"), ("世界", "héllo", "…")])
def test_questions_without_telling_words_are_clustered_all_the_same(questions):
    catalog = ClusteredSkills(task=Written(*questions)).catalog
    assert len(catalog.labels) == len(questions)


def test_test_questions_are_never_looked_at_and_categories_can_be_left_out(task):
    labeler = ClusteredSkills(task=task, splits=["validation", "train"], categories=None)
    catalog = labeler.catalog
    assert {skill.category for skill in catalog.skills} == {None}
    seen = {label.question for label in catalog.labels}
    assert seen == {i.instruction for s in ("validation", "train") for i in task.on(s).instances}
