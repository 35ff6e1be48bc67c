"""Evaluations run and judged again from Python."""

import pytest

from dataenvgym.errors import ConfigurationError, EvaluationError, RunDirectoryError
from dataenvgym.runs.config import compose
from dataenvgym.runs.evaluation import rescore_evaluation, run_evaluation
from dataenvgym.storage import read_json
from dataenvgym.workspace import locked


def test_an_evaluation_is_a_function_of_overrides_or_of_a_configuration(small, tmp_path):
    evaluation = run_evaluation(small, limit=4)
    assert (evaluation.directory, evaluation.split) == (tmp_path / "e", "validation")
    assert evaluation.results.model_dump(mode="json") == read_json(tmp_path / "e" / "results.json")
    assert [c.instance.skill for c in evaluation.completed()] != []
    assert (len(evaluation.completed()), evaluation.report.n) == (4, 4)
    assert evaluation.problems == "the first 4 of 6 problems"
    assert not evaluation.was_finished
    composed = compose(small, name="eval")
    again = run_evaluation(composed, limit=4)
    assert again.was_finished
    assert again.results == evaluation.results
    assert composed == compose(small, name="eval")


def test_samples_are_judged_again_without_the_student(small, tmp_path):
    run_evaluation([*small, "samples=2"])
    judged = rescore_evaluation("e", ["metrics=[pass@2]"], evaluations_dir=tmp_path)
    assert (judged.after.samples, judged.asked) == (2, 2)
    assert judged.after.metrics[0].name == "pass@2"
    assert not any(one.has_changed for one in judged.rescored)


def test_an_evaluation_that_another_process_writes_is_refused(small, tmp_path):
    (tmp_path / "e").mkdir()
    with (
        locked(tmp_path / "e"),
        pytest.raises(RunDirectoryError, match="writing"),
    ):
        run_evaluation(small)
    assert list((tmp_path / "e").iterdir()) == []


def test_the_report_of_an_evaluation_without_a_score_says_why(small, monkeypatch):
    def fails(self, conversations, sampling):
        raise ConnectionError("the cable is cut")

    monkeypatch.setattr("dataenvgym.environments.simulation.SimulatedPredictor.predict", fails)
    evaluation = run_evaluation(small)
    assert evaluation.results.report is None
    with pytest.raises(EvaluationError, match="no sample"):
        _ = evaluation.report


def test_two_students_and_unknown_options_are_refused(small):
    with pytest.raises(ConfigurationError, match="adapter and"):
        run_evaluation(small, run="r", adapter="a")
    with pytest.raises(ConfigurationError, match="evaluation has"):
        run_evaluation(small, splitt="test")  # type: ignore[call-arg]
