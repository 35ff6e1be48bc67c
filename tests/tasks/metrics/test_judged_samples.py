"""The metric `judge`: verdicts on written samples, kept beside them."""

import pytest

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.interfaces import Failure
from dataenvgym.records import Message
from dataenvgym.storage import read_json
from dataenvgym.tasks.judging import RubricJudge
from dataenvgym.tasks.metrics import (
    EvaluationFiles,
    JudgeResult,
    draw_samples,
    judge_samples,
    parse_metrics,
    rescore_folder,
    sum_up,
)
from dataenvgym.tasks.metrics.results import EvaluationResults, completed_of
from tests.fakes import Teacher

METRICS = parse_metrics(["accuracy", "judge"], 2)


class Grader(Teacher):
    """Judges by `say(text of the question)`: a text, a number (the score), or None (it fails)."""

    def __init__(self, say=lambda text: 5, name="grader"):
        super().__init__(lambda text, sampling: self.verdict(say(text)))
        self.name = name

    def describe(self):
        return {"name": self.name}

    def ask(self, conversations, sampling, *, purpose):
        whole = ["".join(message.content for message in c) for c in conversations]
        asked = [(Message(role="user", content=text),) for text in whole]
        return super().ask(asked, sampling, purpose=purpose)

    def verdict(self, said):
        if isinstance(said, int):
            return {"reason": "so", "score": said}
        return Failure(reason="away") if said is None else said


def last_guess(text):
    """The number that the student said first, as a score."""
    return int(text.split("assistant:\n    ")[1][0])


@pytest.fixture
def drawn(tmp_path, task, guesser):
    """A folder with two samples of each of five problems."""
    files = EvaluationFiles(tmp_path / "e", 3)
    draw_samples(files, task, guesser(), task.instances, 2)
    return files


def test_a_sample_with_an_error_is_not_judged(tmp_path, task, guesser):
    files = EvaluationFiles(tmp_path / "e", None)
    draw_samples(files, task, guesser(fails=lambda asked: asked == 1), task.instances, 1)
    metric = judged(files, judge(Grader()), 1).result("judge")
    assert (metric.n_scored, metric.n_unscored, metric.left_out) == (4, 0, 1)


def judge(*graders, **options):
    return RubricJudge({g.name: g for g in graders}, **options)


def judged(files, judge, samples=2):
    return judge_samples(files, judge, completed_of(files, samples), samples)


def test_the_metric_is_the_mean_of_the_judges_scores_over_instances(drawn, task):
    results = sum_up(drawn, task, METRICS, 2, judged(drawn, judge(Grader(last_guess))))
    first = {}
    for c in completed_of(drawn, 2):
        first.setdefault(c.instance.id, []).append(int(c.transcript[1].content))
    metric = results.metrics[1]
    assert isinstance(metric, JudgeResult)
    assert metric.value == pytest.approx(sum(sum(v) / 2 for v in first.values()) / 5)
    assert (metric.n, metric.left_out, metric.n_scored, metric.n_unscored) == (5, 0, 10, 0)
    assert results.report.scores == {"judge": pytest.approx(metric.value)}
    written = read_json(drawn.directory / "results.json")
    assert EvaluationResults.model_validate(written) == results


def test_existing_verdicts_are_not_asked_for_again(drawn, task):
    first = judged(drawn, judge(grader := Grader()))
    assert (first.n_asked, len(grader.asked)) == (10, 10)
    again = judged(drawn, judge(grader := Grader(lambda text: 1)))
    assert (again.n_asked, grader.asked, again.rows) == (0, [], first.rows)
    assert again.result("judge") == first.result("judge")
    (folder,) = drawn.directory.glob("judged-*")
    (folder / "001-0000.jsonl").write_text('{"instance_id": 3}\n')
    with pytest.raises(RunDirectoryError, match="judges again"):
        judged(drawn, judge(Grader()))


def test_a_kill_loses_the_verdicts_of_one_file_at_most(drawn):
    def dies(text):
        if len(grader.asked) > 7:
            raise KeyboardInterrupt
        return 5

    grader = Grader(dies)
    with pytest.raises(KeyboardInterrupt):
        judged(drawn, judge(grader))
    assert judged(drawn, judge(Grader())).n_asked == 10 - 5  # chunks of 3, 2, 3 and 2 samples


def test_another_rubric_judge_or_range_judges_again_and_keeps_the_old_verdicts(drawn):
    judged(drawn, judge(Grader()))
    for other in (
        judge(Grader(), rubric="Short?"),
        judge(Grader(name="b")),
        judge(Grader(), scale=[0, 5]),
    ):
        assert judged(drawn, other).n_asked == 10
    assert judged(drawn, judge(Grader(), aggregation="majority", retries=0)).n_asked == 0
    assert len(list(drawn.directory.glob("judged-*"))) == 4


def test_a_failed_verdict_is_counted_apart_and_asked_for_on_the_next_run(drawn, task):
    failing = Grader(
        lambda text: None if "Number 0" in text else "Wow!" if "Number 1" in text else 8
    )
    first = judged(drawn, judge(failing))
    metric = first.result("judge")
    assert (metric.value, metric.n, metric.left_out) == (8, 3, 2)
    assert (metric.n_scored, metric.n_unscored, metric.failed) == (6, 4, {"grader": 4})
    reasons = {row.instance_id[-1]: row.unscored for row in first.rows if row.unscored}
    assert reasons["0"] == {"grader": "away"}
    assert "no usable verdict in 3 replies" in reasons["1"]["grader"]
    second = judged(drawn, judge(grader := Grader(lambda text: 3)))
    assert (second.n_asked, second.result("judge").n_unscored) == (4, 0)
    # after an unreadable verdict the question changes: a cache would repeat the reply
    asked = {text.count("Asked 2 times") for text in grader.asked}
    assert asked == {0, 1}


def test_of_several_judges_only_the_one_that_failed_is_asked_again(drawn):
    good, bad = Grader(lambda t: 4, "good"), Grader(lambda t: None, "bad")
    metric = judged(drawn, judge(good, bad)).result("judge")
    assert (metric.value, metric.n_unscored, metric.failed) == (4, 0, {"good": 0, "bad": 10})
    assert metric.agreement is None
    good, better = Grader(lambda t: 4, "good"), Grader(lambda t: 6, "bad")
    again = judged(drawn, judge(good, better, min_judges=2)).result("judge")
    assert (again.value, len(good.asked), len(better.asked)) == (5, 0, 10)
    assert again.means == {"good": 4, "bad": 6}
    assert again.agreement is not None


def test_rescoring_judges_the_same_conversations_and_shows_the_old_verdict(drawn, task):
    sum_up(drawn, task, METRICS, 2, judged(drawn, judge(Grader(lambda t: 2))))
    outcome = rescore_folder(
        drawn, task, METRICS, 2, judge=judge(Grader(lambda t: 9), rubric="New")
    )
    assert [r.metrics[1].value for r in (outcome.before, outcome.after)] == [2, 9]
    same = rescore_folder(drawn, task, METRICS, 2, judge=judge(grader := Grader(lambda t: 9)))
    assert (same.after.metrics[1].value, grader.asked) == (2, [])


def test_the_metric_of_a_judge_without_one_is_refused(drawn, task):
    with pytest.raises(ConfigurationError, match="judge, and"):
        sum_up(drawn, task, METRICS, 2)


def test_the_best_of_k_is_chosen_by_the_judge(drawn, task):
    metrics = parse_metrics(["accuracy", "judge", "best@1", "best@2"], 2)
    judged = judge_samples(drawn, judge(Grader(last_guess)), completed_of(drawn, 2), 2)
    accuracy, _, first, best = sum_up(drawn, task, metrics, 2, judged).metrics
    assert first.value == pytest.approx(accuracy.value)
    by_instance: dict[str, list[tuple[float, bool]]] = {}
    for sample, score in zip(drawn.read_samples(2), judged.scores, strict=True):
        by_instance.setdefault(sample.instance_id, []).append((score, sample.was_correct))
    expected = []
    for (one, one_right), (other, other_right) in by_instance.values():
        ties = (one_right + other_right) / 2
        expected.append(ties if one == other else one_right if one > other else other_right)
    assert best.value == pytest.approx(sum(expected) / 5)
    assert (best.n, best.left_out) == (5, 0)
    with pytest.raises(ConfigurationError, match=r"metrics=\[judge,best@2\]"):
        parse_metrics(["best@2"], 2)
