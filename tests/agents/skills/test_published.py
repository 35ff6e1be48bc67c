"""Skill files that DataEnvGym published: their categories are joined by the instructions' texts."""

import json

import pytest

from dataenvgym.agents.skills import PublishedSkills
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.instantiation import build_section
from dataenvgym.tasks.adapted_task import task_of

TEXTS = {"1": "Add 2 and 3.\n", "2": "Sort 3 1 2.", "3": "Sort 3 1 2. Then reverse them."}


class Questions:
    name = "questions"
    instances = tuple(
        TaskInstance(id=f"q{i}", task="questions", instruction=text)
        for i, text in enumerate(
            ["Sort 3 1 2. Then reverse them.", "Add 2 and 3.\n\nWrite a number.", "Sort 9 8 7."]
        )
    )


@pytest.fixture
def published(tmp_path):
    """A file with the fields that DataEnvGym's `save_precomputed_skills` writes."""
    adding = {"category_id": 0, "descriptive_name": "Adding  numbers", "skills": ["addition"]}
    sorting = {"category_id": 1, "descriptive_name": "Sorting", "skills": ["sorting"]}
    content = {
        "labeled_instructions": [
            {"instance_id": i, "instruction": text, "skill": {"name": "x", "reason_for_skill": ""}}
            for i, text in TEXTS.items()
        ],
        "skill_categories": [adding, sorting],
        "instance_id_to_skill_category": {"1": adding, "2": sorting, "3": sorting},
    }
    file = tmp_path / "published.json"
    file.write_text(json.dumps(content))
    return file


def test_questions_get_the_category_of_their_text_and_others_that_of_the_most_similar(published):
    labeler = PublishedSkills(published, task=task_of(Questions()))
    found = [label.skill for label in labeler.label(Questions.instances)]
    assert found == ["Sorting", "Adding numbers", "Sorting"]
    assert labeler.catalog.counts == {"questions": 3, "unknown to the catalog": 1}
    assert (labeler.catalog.method, labeler.catalog.task) == ("dataenvgym", "questions")


def test_the_option_of_the_configuration_reads_the_file(published):
    config = compose(["skills=dataenvgym", f"skills.path={published}"])
    assert isinstance(build_section(config, "skills", task=task_of(Questions())), PublishedSkills)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labeled_instructions": []}, "none of the 3 questions of task 'questions'"),
        ({"instance_id_to_skill_category": {}}, "cannot be read as a skill file .*KeyError: '1'"),
        ({"labeled_instructions": 3}, "expected a JSON file with labeled_instructions"),
    ],
)
def test_a_file_of_another_task_or_form_is_refused(change, said, published):
    published.write_text(json.dumps(json.loads(published.read_text()) | change))
    with pytest.raises(ConfigurationError, match=said):
        PublishedSkills(published, task=task_of(Questions())).label(Questions.instances)
