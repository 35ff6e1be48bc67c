"""Skills that a teacher discovers, well or badly."""

from itertools import count

import pytest
from sklearn.metrics import adjusted_rand_score

from dataenvgym.agents.skills import DiscoveredSkills
from dataenvgym.domains.math.pocket import SKILLS, PocketMathTask
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.records import TaskInstance
from tests.agents.skills.conftest import KeywordTeacher


def discovered(teacher: KeywordTeacher, task: PocketMathTask, **options) -> DiscoveredSkills:
    return DiscoveredSkills(teacher, task=task, **options)


def agreement(labeler: DiscoveredSkills, task: PocketMathTask) -> float:
    found = [label.skill for label in labeler.label(task.instances)]
    return float(adjusted_rand_score([i.skill for i in task.instances], found))


def test_synonyms_of_a_skill_are_merged_into_one(task):
    labeler = discovered(KeywordTeacher(), task)
    assert agreement(labeler, task) == 1.0
    catalog = labeler.catalog
    assert {s.name for s in catalog.skills} == {f"do {s.symbol}" for s in SKILLS.values()}
    assert catalog.counts["questions"] == 120
    assert catalog.counts["labels before merging"] > 40
    assert catalog.counts["labeled by similarity"] == 0


def test_each_question_is_asked_once_in_batches_and_never_a_test_question(task):
    teacher = KeywordTeacher()
    discovered(teacher, task, batch_size=25).label(task.instances)
    asked = [text for text in teacher.asked if "Name the one skill" in text]
    assert len(asked) == 5
    together = "\n".join(asked)
    assert all(together.count(f". {i.instruction}\n") == 1 for i in task.instances)
    assert not any(i.instruction in together for i in task.on("test").instances)


def test_skills_are_sorted_into_categories_by_the_teacher(task):
    class Sorting(KeywordTeacher):
        def _groups(self, text):
            if "at most 5 categories" not in text:
                return super()._groups(text)
            names = [line for line in text.splitlines() if line.startswith("do ")]
            by_length = {"Short_Ones": [n for n in names if len(n) == 6]}
            return {"categories": [{"category": k, "skills": v} for k, v in by_length.items()]}

    catalog = discovered(Sorting(), task).catalog
    assert {s.category for s in catalog.skills if len(s.name) == 6} == {"short ones"}
    left_out = [s for s in catalog.skills if len(s.name) != 6]
    assert {s.category for s in left_out} == {None}
    assert catalog.counts["skills without category"] == len(left_out)


def garbage_every(n: int, *answers: str | None):
    """Replaces every n-th answer by these, in turns."""
    calls = count(1)
    turns = count()
    return lambda text: text if next(calls) % n else answers[next(turns) % len(answers)]


@pytest.mark.parametrize("n", [2, 3])
def test_garbage_and_failures_leave_every_question_with_a_label(task, n):
    teacher = KeywordTeacher(
        garbage_every(n, "no idea", None, "{", '{"labels": [{"number": 99, "skill": "x"}]}', "[]")
    )
    labeler = discovered(teacher, task, batch_size=5)
    labels = labeler.label(task.instances)
    assert None not in {label.skill for label in labels}
    assert len({label.skill for label in labels}) <= 20
    assert teacher.malformed > 0
    assert labeler.catalog.counts["labeled by similarity"] <= 60
    assert agreement(labeler, task) > 0.4


def test_questions_that_one_attempt_left_out_are_asked_again_with_the_names_so_far(task):
    calls = count()
    teacher = KeywordTeacher(lambda text: "?" if next(calls) == 1 else text)
    labeler = discovered(teacher, task, batch_size=60)
    assert labeler.catalog.counts["labeled by similarity"] == 0
    again = teacher.asked[2]
    assert "do asc way" in again
    assert again.count("Name the one skill") == 1


def test_a_teacher_of_no_use_at_all_is_an_error_with_the_way_out(task):
    for answer in ("no idea", None, '{"labels": []}', '{"labels": [{"number": 1, "skill": ""}]}'):
        labeler = discovered(KeywordTeacher(lambda text, a=answer: a), task)
        with pytest.raises(ConfigurationError, match="clusters"):
            labeler.label(task.instances)


def test_a_budget_that_is_spent_half_way_leaves_the_rest_to_similarity(task):
    labeler = discovered(KeywordTeacher(budget=6), task)
    assert len(labeler.label(task.instances)) == 120
    assert labeler.catalog.counts["labeled by similarity"] == 60
    assert len(labeler.catalog.skills) <= 20
    with pytest.raises(BudgetSpentError):
        discovered(KeywordTeacher(budget=0), task).label(task.instances)


# --- online -------------------------------------------------------------------------------------


def test_the_teacher_labels_an_unseen_question_with_the_known_skills(task):
    teacher = KeywordTeacher()
    labeler = discovered(teacher, task)
    labeler.label(task.instances)
    before = len(teacher.asked)
    strange = TaskInstance(id="s", task=task.name, instruction="Who are you?")
    assert labeler.label([strange])[0] == ("do other", None)
    assert len(teacher.asked) == before + 1
    assert "do asc; " in teacher.asked[-1]
    labeler.label([strange])
    assert len(teacher.asked) == before + 1


def test_without_budget_an_unseen_question_has_the_label_of_the_most_similar_one(task, tmp_path):
    teacher = KeywordTeacher()
    labeler = discovered(teacher, task, directory=tmp_path)
    labeler.label(task.instances)
    teacher.budget = 0
    test = task.on("test").instances
    found = [label.skill for label in labeler.label(test)]
    assert adjusted_rand_score([i.skill for i in test], found) > 0.8
    again = discovered(KeywordTeacher(budget=0), task, directory=tmp_path)
    assert [label.skill for label in again.label(test)] == found


def test_a_prompt_without_the_problems_is_refused(task):
    with pytest.raises(ConfigurationError, match="problems"):
        discovered(KeywordTeacher(), task, label_prompt={"user": "Name {count} skills."})
