from types import SimpleNamespace

import pytest

from dataenvgym.errors import EvaluationError
from dataenvgym.events import hearing_warnings
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.tasks import report_on
from dataenvgym.tasks.adapted_task import evaluated_by


def completed(reward, *, skill=None, category=None, error=None, scores=None):
    return CompletedTaskInstance(
        instance=TaskInstance(id="x", task="t", instruction="?", skill=skill, category=category),
        transcript=(),
        reward=reward,
        was_correct=reward == 1.0,
        error=error,
        scores=scores or {},
    )


def test_the_no_answer_rate_is_over_instances_without_an_error_overall_and_by_skill():
    tried = [
        completed(1.0, skill="a"),
        completed(0.0, skill="a"),
        completed(0.0, skill="b"),
        completed(0.5, skill="b"),
        completed(0.0, skill="b", error="HTTP 503"),
    ]
    report = report_on("t", tried, has_answer=lambda c: c.reward > 0)
    assert (report.task, report.accuracy, report.n, report.n_errors) == ("t", 0.25, 5, 1)
    assert report.no_answer_rate == 0.5
    assert [skill.no_answer_rate for skill in report.skills] == [0.5, 0.5]
    assert (report.score, report.answered_score) == (0.375, 0.75)
    assert [skill.answered_score for skill in report.skills] == [1.0, 0.5]
    some = report_on(
        "t", tried, has_answer=lambda c: c.reward > 0 if c.instance.skill == "a" else None
    )
    assert some.no_answer_rate == 0.5
    assert [skill.no_answer_rate for skill in some.skills] == [0.5, None]


def test_a_task_that_does_not_tell_answers_apart_has_no_rate_and_an_error_counts_as_an_answer():
    plain = report_on("t", [completed(0.0)])
    assert plain.no_answer_rate is None
    assert "answer" not in plain.model_dump_json()

    def broken(completed):
        raise ValueError("?")

    assert report_on("t", [completed(0.0)], has_answer=broken).no_answer_rate == 0.0


def test_the_report_does_not_depend_on_the_order_of_the_instances():
    instances = [completed(k / 7, skill=f"s{k % 3}") for k in range(50)]
    assert report_on("t", instances) == report_on("t", instances[::-1])


def test_if_nothing_could_be_scored_the_error_says_the_first_reason():
    with pytest.raises(EvaluationError, match="HTTP 503"):
        report_on("t", [completed(0.0, error="HTTP 503"), completed(0.0, error="HTTP 500")])
    with pytest.raises(EvaluationError, match="none"):
        report_on("t", [])


def test_evaluate_may_be_a_generator_and_an_id_that_it_gives_twice_is_named_in_a_warning():
    told = []
    twice = [completed(1.0), completed(0.0)]
    with hearing_warnings(told.append):
        task = SimpleNamespace(name="own", evaluate=lambda predictor: iter(twice))
        assert evaluated_by(task, None) == twice
    assert len(told) == 1
    assert "'x' 2 times" in told[0]


def test_named_scores_are_means_over_instances_that_have_them_without_failed_calls():
    report = report_on(
        "t",
        [
            completed(0.0, skill="a", scores={"tests_passed": 0.5, "kind": 1.0}),
            completed(1.0, skill="a", scores={"tests_passed": 1.0}),
            completed(0.0, skill="b", scores={"tests_passed": 0.0}),
            completed(0.0, skill="b", error="gone"),
            completed(0.0, skill="c"),
        ],
    )
    assert [s.skill for s in report.skills] == ["a", "b", "c"]
    assert list(report.scores.items()) == [("kind", 1.0), ("tests_passed", 0.5)]
    assert [s.scores for s in report.skills] == [
        {"kind": 1.0, "tests_passed": 0.75},
        {"tests_passed": 0.0},
        {},
    ]


def test_corpus_scores_are_among_the_named_ones_overall_and_by_skill():
    tried = [
        completed(1.0, skill="a", scores={"kind": 1.0, "alpha": 0.5}),
        completed(0.0, skill="a"),
        completed(0.0, skill="b", error="gone"),
    ]
    report = report_on("t", tried, lambda scored: {"count": float(len(scored)), "kind": 9.0})
    assert list(report.scores.items()) == [("alpha", 0.5), ("count", 2.0), ("kind", 9.0)]
    assert [s.scores.get("count") for s in report.skills] == [2.0, None]
    skill = report.skills[1]
    assert (skill.score, skill.accuracy, skill.n, skill.n_errors) == (None, None, 1, 1)


@pytest.mark.parametrize("value", [float("nan"), "high"])
def test_a_corpus_score_that_is_not_a_finite_number_is_refused(value):
    with pytest.raises(EvaluationError, match="corpus_scores"):
        report_on("t", [completed(1.0)], lambda completed: {"f1": value})
