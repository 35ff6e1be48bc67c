from collections import Counter

import numpy as np
import pytest

from dataenvgym.agents import PocketEngine
from dataenvgym.domains.few_shot.engines import GridEditEngine
from dataenvgym.domains.few_shot.pocket import POCKET_FEW_SHOT, SKILLS, PocketFewShotTask
from dataenvgym.domains.few_shot.problem import FewShotProblem
from dataenvgym.records.plans import Assignment
from dataenvgym.tasks.domain import solves
from dataenvgym.tasks.source import SPLITS
from tests.fakes import Knowing

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def task():
    return PocketFewShotTask(n_train=80, n_validation=40, n_test=40)


def judged(task, records):
    return Counter(task.domain.judge_record(record) for record in records)


@pytest.mark.parametrize("split", SPLITS)
def test_the_gold_answer_of_every_puzzle_follows_the_rule_of_its_demonstrations(task, split):
    for instance in task.on(split).instances:
        puzzle, _ = POCKET_FEW_SHOT.find(instance.instruction)
        assert (puzzle.skill.name, puzzle.answer) == (instance.skill, instance.answer)
        assert solves(task.domain, instance, f"It is\n{instance.answer}")
        assert not solves(task.domain, instance, "1 2 3\n4 5 6\n7 8 9")
    assert Counter(i.skill for i in task.on(split).instances).keys() == SKILLS.keys()


def test_splits_share_no_input_to_be_solved(task):
    inputs = [
        {i.data_as(FewShotProblem).input for i in task.on(split).instances} for split in SPLITS
    ]
    assert sum(map(len, inputs)) == len(set().union(*inputs)) == 160


def test_in_symbols_the_name_of_the_rule_is_in_the_place_of_the_demonstrations():
    exercise = POCKET_FEW_SHOT.draw("flip-0", "train", RNG(0), symbols=True)
    assert exercise.question.startswith("flip-0\n\nInput:\n")
    assert exercise.question.count("Output:") == 1
    assert POCKET_FEW_SHOT.read(exercise.question) is None


def test_a_puzzle_of_another_rule_or_size_is_not_one_of_the_family():
    question = POCKET_FEW_SHOT.draw("flip-0", "train", RNG(0)).question
    start = question.index("Output:\n") + len("Output:\n")
    wrong = "0 0 0" if question[start : start + 5] != "0 0 0" else "1 0 0"
    assert POCKET_FEW_SHOT.read(question).skill == "flip-0"
    assert POCKET_FEW_SHOT.read(question[:start] + wrong + question[start + 5 :]) is None
    assert POCKET_FEW_SHOT.read("Input:\n1 2\nOutput:\n2 1\n\nInput:\n3 4\nOutput:") is None


def test_the_teacher_writes_puzzles_that_follow_the_rule(task):
    plan = [Assignment(5, skill=name) for name in SKILLS]
    records = PocketEngine(task).generate(plan, Knowing({}, "{}"), RNG(0))
    assert judged(task, records) == {True: 40}
    lie = records[0].model_copy(update={"output": "1 2 3\n4 5 6\n7 8 9"})
    assert judged(task, [lie]) == {False: 1}
    problem = task.domain.problem_of_record(lie)
    assert (problem.skill, problem.answer) == ("flip-0", lie.output)
    assert judged(task, [lie.model_copy(update={"instruction": "Who?"})]) == {None: 1}


@pytest.mark.parametrize(("rule", "kept"), [("cross", 0.6), ("flip-0", 0.0)])
def test_basic_augmentations_keep_the_rules_that_erase_and_change_those_that_move(rule, kept):
    """By another rule the puzzle is still one of the family, but teaches the wrong thing."""
    task = PocketFewShotTask(n_train=40, n_validation=8, n_test=8)
    engine = GridEditEngine(task, examples_per_problem=60)
    records = engine.generate([Assignment(200, skill=rule)], Knowing({}, "{}"), RNG(0))
    taught = Counter(task.domain.problem_of_record(record).skill for record in records)
    moved = {name: n for name, n in taught.items() if name in SKILLS and name != rule}
    if kept:
        assert taught[rule] > kept * taught.total()
        assert not moved
    else:
        assert moved["flip-1"] > 0.2 * taught.total()
