import re
from collections import Counter

import numpy as np
import pytest

from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.math.task import MathTask
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.pocket import family_of, find_skill, read_exercise
from dataenvgym.tasks.source import SPLITS
from tools.pocket.recipes import STUDENTS

RNG = np.random.default_rng
FAMILIES = [family for student in STUDENTS.values() for family in student.families]
FAMILY_OF = {skill: family for family in FAMILIES for skill in family.phrasings}


@pytest.mark.parametrize(
    "make", [PocketMathTask, PocketCodeTask, PocketToolsTask, PocketSocialTask]
)
def test_the_same_problems_come_again_in_equal_shares_of_the_skills_each_in_one_split(make):
    skills = family_of(task := make()).skills
    assert family_of(task).name == task.name
    assert len(skills) >= 16
    assert len({skill.category for skill in skills.values()}) >= 4
    counts = Counter(instance.skill for instance in task.instances)
    assert set(counts) == set(skills)
    assert len(set(counts.values())) == 1
    assert task.instances == make().instances != make(seed=1).instances
    keys = [{task.domain.overlap_key(i.instruction) for i in task.on(s).instances} for s in SPLITS]
    assert sum(map(len, keys)) == len(set().union(*keys))


def test_every_exercise_is_read_back_in_every_phrasing():
    for skill, family in FAMILY_OF.items():
        assert len(family.phrasings[skill]) == 3
        for phrasing in family.phrasings[skill]:
            exercise = family.draw(skill, "train", RNG(0), phrasing=phrasing)
            assert exercise.phrasing == phrasing
            assert read_exercise(exercise.question) == exercise
            assert family.holds(exercise, exercise.output) == (not exercise.steps)
            for other in family.phrasings[skill]:
                reworded = family.reworded(exercise, other)
                assert (reworded.output, reworded.phrasing) == (exercise.output, other)
                assert reworded.steps == exercise.steps
                assert read_exercise(reworded.question) == reworded


def test_no_skill_belongs_to_two_families_and_no_phrasing_to_two_skills():
    assert len(FAMILY_OF) == sum(len(family.phrasings) for family in FAMILIES)
    phrasings = [p for skill in FAMILY_OF for p in FAMILY_OF[skill].phrasings[skill]]
    shapes = {re.sub(r"\{(a|b|c|x|y|xs)\}", "{xs}", p) for p in phrasings}
    assert len(shapes) == len(phrasings)


def test_a_question_in_symbols_or_of_another_kind_is_not_read():
    for family in FAMILIES:
        skill = next(iter(family.phrasings))
        exercise = family.draw(skill, "train", RNG(0), symbols=True)
        assert exercise.phrasing is None
        assert exercise.question.endswith("=")
        assert read_exercise(exercise.question) is None
        other = family.draw(list(family.phrasings)[-1], "train", RNG(0))
        assert not family.holds(exercise, other.output)
    assert read_exercise("Write solve(xs) that returns the biggest item. Be quick.") is None


def test_another_task_and_an_unknown_skill_are_refused():
    with pytest.raises(ConfigurationError, match="no pocket"):
        family_of(MathTask("none.jsonl"))
    with pytest.raises(ConfigurationError, match="Did you mean 'descending'"):
        find_skill(FAMILIES[0], "decending")
