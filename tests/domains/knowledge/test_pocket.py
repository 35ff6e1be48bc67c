from itertools import combinations

import numpy as np
import pytest

from dataenvgym.agents import PocketEngine
from dataenvgym.agents.engines.gold import gold_records
from dataenvgym.domains.knowledge.pocket import (
    NAMES,
    POCKET_KNOWLEDGE,
    SKILLS,
    PocketKnowledgeTask,
)
from dataenvgym.records.plans import Assignment
from dataenvgym.tasks.domain import solves
from tests.fakes import Knowing

SPLITS = ("train", "validation", "test")
RNG = np.random.default_rng


@pytest.fixture(scope="module")
def task():
    return PocketKnowledgeTask()


@pytest.mark.parametrize("split", SPLITS)
def test_gold_answers_are_right_and_cover_all_facts(task, split):
    of_split = task.on(split)
    golds = {i.instruction: i.answer for i in of_split.instances}
    assert all(c.was_correct for c in of_split.evaluate(Knowing(golds, "I think it is {}.")))
    asked = {(i.skill, POCKET_KNOWLEDGE.find(i.instruction)[0].person) for i in of_split.instances}
    assert len(asked) > (39 if split == "train" else 30)  # of 40


def test_every_split_asks_in_words_of_its_own(task):
    phrasings = {
        split: {POCKET_KNOWLEDGE.find(i.instruction)[1] for i in task.on(split).instances}
        for split in SPLITS
    }
    assert [len(phrasings[split]) for split in SPLITS] == [15, 5, 5]
    assert not any(phrasings[one] & phrasings[other] for one, other in combinations(SPLITS, 2))


def test_with_n_people_each_split_asks_about_people_of_its_own_with_all_their_facts():
    task = PocketKnowledgeTask(n_people=4, n_train=200, n_validation=200, n_test=200)
    people = {split: {i.data["title"] for i in task.on(split).instances} for split in SPLITS}
    assert [len(people[split]) for split in SPLITS] == [4, 4, 4]
    assert len(set(NAMES).union(*people.values())) == 8 + 3 * 4
    golds = {i.instruction: i.answer for i in task.instances}
    assert all(c.was_correct for c in task.evaluate(Knowing(golds, "{}.")))
    for instance in task.instances:
        assert instance.answer in instance.data["passage"]
    plan = [Assignment(40, skill="pets")]
    records = PocketEngine(task).generate(plan, Knowing({}, "{}"), RNG(0))
    taught = {POCKET_KNOWLEDGE.find(record.instruction)[0].person for record in records}
    assert taught == people["train"]


def test_the_teacher_writes_right_records_in_words_of_the_training_split(task):
    wrong = task.evaluate(Knowing({}, "{}"))
    plan = [Assignment(1, examples=(completed,)) for completed in wrong]
    records = PocketEngine(task).generate(plan, Knowing({}, "{}"), RNG(0))
    assert len(records) == len(wrong)
    assert all(task.domain.judge_record(record) for record in records)
    for record in records:
        problem, phrasing = POCKET_KNOWLEDGE.find(record.instruction)
        assert phrasing in problem.skill.phrasings
    lie = records[0].model_copy(update={"output": "All of them."})
    assert task.domain.judge_record(lie) is False
    assert task.domain.judge_record(lie.model_copy(update={"instruction": "Who?"})) is None


def test_each_person_has_a_passage_with_all_facts_that_no_question_shows(task):
    for instance in task.on("train").instances:
        person, passage = instance.data["title"], instance.data["passage"]
        assert all(f"{skill.facts[person]}" in passage for skill in SKILLS.values())
        assert instance.answer in passage
        assert passage not in instance.instruction
    assert {i.data["title"] for i in task.on("train").instances} == set(NAMES)


def test_a_record_becomes_a_problem_with_the_value_that_it_names(task):
    (record, *_) = gold_records(task, task.on("train").instances)
    lie = record.model_copy(update={"output": f"It is {SKILLS[record.provenance.skill].values[0]}"})
    for one in (record, lie):
        problem = task.domain.problem_of_record(one)
        assert (problem.instruction, problem.skill) == (record.instruction, record.provenance.skill)
        assert solves(task.domain, problem, one.output)
    assert task.domain.problem_of_record(record.model_copy(update={"output": "Who?"})) is None
    assert task.domain.problem_of_record(record.model_copy(update={"instruction": "Who?"})) is None
