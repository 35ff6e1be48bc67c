import numpy as np
import pytest

from dataenvgym.domains.few_shot.augmentations import SYMMETRIES
from dataenvgym.domains.few_shot.domain import FewShotDomain
from dataenvgym.domains.few_shot.environment import AGAIN, output_of
from dataenvgym.domains.few_shot.problem import text_of
from dataenvgym.domains.few_shot.task import FewShotTask
from dataenvgym.environments.overlap import EvaluatedProblems
from dataenvgym.records import SupervisedDatum
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.domain import solves
from tests.domains.few_shot.puzzles import folder_of

DOMAIN = FewShotDomain()


@pytest.fixture
def task(small):
    return FewShotTask({"train": small, "validation": small, "test": small})


def record_of(instance, output):
    return SupervisedDatum(instruction=instance.instruction, output=output)


def test_a_record_becomes_a_problem_with_its_own_skill(task):
    instance = task.instances[0]
    found = task.domain.problem_of_record(task.domain.gold_record(instance))
    for field in ("instruction", "answer", "skill", "category", "data"):
        assert getattr(found, field) == getattr(instance, field)
    assert solves(task.domain, found, f"It is\n{instance.answer}")
    for other in (record_of(instance, "no grid"), SupervisedDatum(instruction="1", output="1")):
        assert task.domain.problem_of_record(other) is None


def test_replies_with_the_same_grid_give_the_same_answer(task):
    same = {DOMAIN.answer_class(task.instances[0], reply) for reply in ("1 2", "[[1, 2]]", "a\n12")}
    assert same == {"1 2"}
    assert DOMAIN.answer_class(task.instances[0], "none") is None
    report = task.generate_performance_report(task.evaluate(ScriptedPredictor(lambda c: "1 2")))
    assert "voted" not in report.scores  # without views


def test_only_the_input_to_solve_gives_a_long_problem_away(tmp_path):
    task = FewShotTask({"validation": folder_of(tmp_path / "one", 1)})
    overlap = EvaluatedProblems(task).overlap()
    evaluated = task.instances[0]
    assert record_of(evaluated, "1") in overlap
    first, *others = evaluated.instruction.split("\n\n")
    asked, _ = first.split("Output:")
    for parts, is_leak in (
        ([*others], True),  # without the first demonstration, and with the input to solve
        ([*others[:-1], f"{asked}Output:"], False),  # made of the demonstrations alone
    ):
        changed = evaluated.model_copy(update={"instruction": "\n\n".join(parts)})
        assert (record_of(changed, "1") in overlap) == is_leak


# --- voting ---


def answers_in(task, wrong):
    """Right answers; in these views, the same wrong grid turned as the view is, or no grid."""

    def reply(conversation):
        if conversation[-1].content == AGAIN:
            return "no other"
        (one,) = [
            i
            for i in task.instances
            if task.domain.prompt_template.text(i.instruction) == conversation[0].content
        ]
        view = one.data["view"]
        if view not in wrong:
            return one.answer
        if wrong[view] is None:
            return "nothing"
        seen = wrong[view]
        return text_of(SYMMETRIES[view].applied(seen) if view else seen)

    return ScriptedPredictor(reply)


@pytest.fixture
def viewed(tmp_path):
    return FewShotTask(folder_of(tmp_path / "one", 1), views=5).whole()


def test_each_view_is_a_problem_of_its_own(viewed):
    assert [i.id for i in viewed.instances] == [
        f"one/task00-0{view}"
        for view in ("", "@rotate-90", "@rotate-180", "@rotate-270", "@flip-0")
    ]
    plain, turned, *_ = viewed.instances
    given, output = (np.array(i.data["input"]) for i in (plain, turned))
    assert (np.rot90(given) == output).all()
    assert output_of(turned) == SYMMETRIES["rotate-90"].applied(output_of(plain))


X, Y = ((1, 1),), ((2, 2),)


@pytest.mark.parametrize(
    ("wrong", "accuracy", "voted"),
    [
        ({}, 1.0, 1.0),
        ({"": X, "rotate-90": X, "flip-0": None}, 0.4, 1.0),  # second by votes
        ({"": X, "rotate-90": X, "rotate-180": Y, "flip-0": Y}, 0.2, 0.0),
        ({"": X, "rotate-90": Y, "rotate-180": None, "rotate-270": None}, 0.2, 0.0),  # a tie
        (dict.fromkeys(("", *SYMMETRIES)), 0.0, 0.0),
    ],
)
def test_the_two_most_frequent_grids_turned_back_are_the_attempts(viewed, wrong, accuracy, voted):
    completed = viewed.evaluate(answers_in(viewed, wrong))
    report = viewed.generate_performance_report(completed)
    assert report.accuracy == pytest.approx(accuracy)
    assert report.scores["voted"] == voted
    assert viewed.generate_performance_report(completed[::-1]) == report
