"""The teaching environments with a labeler."""

import json

import pytest

from dataenvgym.agents.skills import ClusteredSkills, DiscoveredSkills
from dataenvgym.environments import OpenEnded, SkillList
from dataenvgym.errors import RunDirectoryError
from dataenvgym.interfaces import SkillLabel
from dataenvgym.runs.config import build_environment, build_task, compose
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from tests.agents.skills.conftest import KeywordTeacher


class Parity:
    """Labels by whether the id is even: a labeler of one's own, of one method."""

    def label(self, instances):
        return [
            SkillLabel("even" if int(i.id[-1]) % 2 == 0 else "odd", "parity") for i in instances
        ]


@pytest.fixture
def student():
    return ScriptedPredictor(lambda conversation: "#### 1")


def test_observation_and_report_carry_the_labelers_skills_and_the_file_keeps_gold(
    task, student, tmp_path
):
    environment = SkillList(task, student, directory=tmp_path, labeler=Parity())
    observation, _ = environment.reset(seed=0)
    plain, _ = SkillList(task, student).reset(seed=0)
    assert plain["report"].score == observation["report"].score > 0
    assert observation in environment.observation_space
    assert [(s.category, s.skill, s.n) for s in observation["report"].skills] == [
        ("parity", "even", 60),
        ("parity", "odd", 60),
    ]
    assert {c.instance.skill for c in observation["completed"]} == {"even", "odd"}
    observation, *_ = environment.step([{"instruction": "Say one.", "output": "#### 1"}])
    assert {c.instance.skill for c in observation["completed"]} == {"even", "odd"}
    lines = (tmp_path / "iterations/001/completed.jsonl").read_text().splitlines()
    kept = [json.loads(line)["instance"]["skill"] for line in lines]
    assert kept == [i.skill for i in task.instances]


def test_open_ended_hides_skills_from_every_labeler(task, student):
    environment = OpenEnded(task, student, labeler=Parity())
    observation, _ = environment.reset(seed=0)
    assert {c.instance.skill for c in observation["completed"]} == {None}
    assert observation["report"].skills == ()
    assert {s.skill for s in environment.results[0].report.skills} == {"even", "odd"}


def test_a_resumed_episode_sees_the_same_skills_without_a_request(task, student, tmp_path):
    def environment(teacher):
        labeler = DiscoveredSkills(teacher, task=task, directory=tmp_path)
        return SkillList(task, student, directory=tmp_path, labeler=labeler)

    first = environment(KeywordTeacher())
    first.reset(seed=0)
    observation, *_ = first.step([{"instruction": "Say one.", "output": "#### 1"}])
    again, _ = environment(KeywordTeacher(budget=0)).reset(seed=0, options={"resume": True})
    assert again == observation
    described = json.loads((tmp_path / "environment.json").read_text())["skills"]
    assert described == first.labeler.describe()


def test_an_episode_with_other_skills_is_not_resumed(task, student, tmp_path):
    def environment(clusters):
        labeler = ClusteredSkills(task=task, directory=tmp_path, clusters=clusters)
        return SkillList(task, student, directory=tmp_path, labeler=labeler)

    environment(5).reset(seed=0)
    with pytest.raises(RunDirectoryError, match="begun with skills"):
        environment(6).reset(seed=0, options={"resume": True})


def test_skills_are_chosen_in_the_configuration_and_get_task_and_directory(student, tmp_path):
    config = compose(
        ["agent=skill_list", "skills=clusters", "skills.clusters=4", "task.n_validation=40"]
    )
    environment = build_environment(
        config, tmp_path, task=build_task(config), predictor=student
    ).unwrapped
    assert not list(tmp_path.iterdir())
    observation, _ = environment.reset(seed=0)
    assert len(observation["report"].skills) == 4
    assert (tmp_path / "skills.json").exists()
    config = compose(["agent=skill_list", "task.n_validation=40"])  # gold skills
    environment = build_environment(config, task=build_task(config), predictor=student)
    assert environment.unwrapped.labeler is None
