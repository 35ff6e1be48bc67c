import pytest
from sklearn.metrics import adjusted_rand_score

from dataenvgym.agents.skills import ClusteredSkills, SavedSkills, read_catalog
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.adapted_task import task_of
from tests.agents.skills.conftest import KeywordTeacher


@pytest.fixture
def earlier(task, tmp_path):
    """The run directory of an earlier run."""
    (tmp_path / "earlier").mkdir()
    ClusteredSkills(task=task, directory=tmp_path / "earlier").label(task.instances)
    return tmp_path / "earlier"


def test_another_run_labels_the_same_questions_in_the_same_way(task, earlier, tmp_path):
    before = read_catalog(earlier)
    labeler = SavedSkills(earlier, task=task, directory=tmp_path / "run")
    found = [label.skill for label in labeler.label(task.instances)]
    assert found == [label.skill for label in before.labels]
    kept = read_catalog(tmp_path / "run")
    assert (kept.skills, kept.labels, kept.method) == (before.skills, before.labels, "clusters")
    described = labeler.describe()
    (earlier / "skills.json").unlink()  # which the run no longer needs
    assert SavedSkills(earlier, task=task, directory=tmp_path / "run").describe() == described


def test_questions_it_does_not_know_are_placed_by_similarity_or_a_teacher(earlier):
    other = PocketMathTask(n_validation=120, seed=5)
    labeler = SavedSkills(earlier, task=other)
    found = [label.skill for label in labeler.label(other.instances)]
    assert adjusted_rand_score([i.skill for i in other.instances], found) > 0.6
    assert labeler.catalog.counts["unknown to the catalog"] > 100
    assert {label.question for label in labeler.catalog.labels} == {
        i.instruction for i in other.instances
    }
    teacher = KeywordTeacher()
    labeler = SavedSkills(earlier, task=other, teacher=teacher)
    assert {label.skill[:3] for label in labeler.label(other.instances)} >= {"do "}
    assert read_catalog(earlier).skills[0].name in teacher.asked[0]


class Riddles:
    name = "riddles"
    instances = (TaskInstance(id="r", task="riddles", instruction="Sort 3 1 2 in rising order"),)


def test_a_catalog_of_another_task_is_refused(earlier):
    with pytest.raises(ConfigurationError, match="riddles"):
        SavedSkills(earlier, task=task_of(Riddles())).label(Riddles.instances)
    with pytest.raises(ConfigurationError, match="there is no skill catalog"):
        SavedSkills(earlier / "nowhere", task=task_of(Riddles())).label(Riddles.instances)
