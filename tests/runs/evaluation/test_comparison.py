"""Evaluations compared problem by problem."""

import re
import shutil

import pytest

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.events import hearing_warnings
from dataenvgym.runs.evaluation import run_evaluation
from dataenvgym.runs.evaluation.comparison import compare_evaluations
from dataenvgym.storage import write_jsonl
from dataenvgym.tasks.metrics.estimators import clustered_estimate

ROWS = [
    {"id": f"q{i}", "problem": f"{i} + {i}?", "answer": str(2 * i), "type": "ab"[i % 2]}
    for i in range(8)
]
STUDENT = '''
from dataenvgym.interfaces import Failure, Reply


class Adder:
    """Adds right if the number is below `limit`; the line is dead for `dead`."""

    def __init__(self, limit, dead=-1):
        self.limit, self.dead = limit, dead

    def predict(self, conversations, sampling):
        numbers = [int(c[-1].content.split()[0]) for c in conversations]
        return [
            Failure(reason="dead") if n == self.dead
            else Reply(text=f"#### {2 * n if n < self.limit else 0}")
            for n in numbers
        ]
'''


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    (tmp_path / "adding.py").write_text(STUDENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(name, *overrides, rows=ROWS):
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
        own = [f"task.sources={{validation: {tmp_path / name}.jsonl}}", f"name={name}"]
        student = ["predictor=custom", "predictor._target_=adding.Adder"]
        return run_evaluation(["task=math_jsonl", *own, *student, *overrides]).directory

    return run


def test_differences_are_paired_and_flips_are_named(evaluate):
    before = evaluate("before", "+predictor.limit=3")
    after = evaluate("after", "+predictor.limit=6", "+predictor.dead=7")
    (found,) = compare_evaluations(before, after)
    assert (found.n, found.n_clusters, found.n_unpaired) == (7, 7, 1)
    score, accuracy = found.scores
    assert (score.name, accuracy.name) == ("score", "accuracy")
    assert (score.before, score.after) == (3 / 7, 6 / 7)
    gains = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    assert score.difference == clustered_estimate([[gain] for gain in gains])
    assert [flip.instance_id for flip in found.flips] == ["q3", "q4", "q5"]
    assert found.flips[0].instruction == "3 + 3?"
    (back,) = compare_evaluations(after, before)
    assert back.scores[0].difference.mean == -score.difference.mean
    assert [(flip.before, flip.after) for flip in back.flips] == [(1.0, 0.0)] * 3


def test_problems_of_a_cluster_count_together(evaluate):
    before, after = (
        evaluate("before", "+predictor.limit=3"),
        evaluate("after", "+predictor.limit=6"),
    )
    (found,) = compare_evaluations(before, after, cluster="category")
    assert found.n_clusters == 2
    gains = [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    assert found.scores[0].difference == clustered_estimate(gains)
    with pytest.raises(ConfigurationError, match="cluster"):
        compare_evaluations(before, after, cluster="kind")


def test_evaluations_of_other_problems_are_refused(evaluate, tmp_path):
    before = evaluate("before", "+predictor.limit=3")
    changed = [{**row, "answer": str(2 * i + (i > 4))} for i, row in enumerate(ROWS)]
    after = evaluate("after", "+predictor.limit=6", rows=changed)
    (found,) = compare_evaluations(before, after)
    assert (found.n, found.n_unpaired) == (5, 3)
    other = evaluate("other", "+predictor.limit=1", rows=[{**ROWS[0], "id": "x"}])
    with pytest.raises(ConfigurationError, match="common"):
        compare_evaluations(before, other)
    (after / "results.json").unlink()
    with pytest.raises(RunDirectoryError, match="is not finished"):
        compare_evaluations(before, after)
    with pytest.raises(RunDirectoryError, match="no evaluations"):
        compare_evaluations(before, tmp_path / "nowhere")


def test_folders_are_compared_task_by_task(evaluate, tmp_path):
    for folder, limit in (("base", 3), ("taught", 5)):
        for task in ("sums", "more"):
            place = f"evaluations_dir={tmp_path / folder}"
            evaluate(task, f"+predictor.limit={limit}", place, f"task.name={task}")
    found = compare_evaluations(tmp_path / "base", tmp_path / "taught")
    assert sorted(each.task for each in found) == ["more", "sums"]
    assert {each.scores[0].difference.mean for each in found} == {0.25}
    evaluate("own", "+predictor.limit=1", f"evaluations_dir={tmp_path / 'base'}", "task.name=own")
    said = []
    with hearing_warnings(said.append):
        assert len(compare_evaluations(tmp_path / "base", tmp_path / "taught")) == 2
    (one,) = said
    assert re.search(r"taught has no evaluation of the same task and split as .*base/own$", one)
    message = r"have no task in common: the first has own \(validation\), the second more"
    with pytest.raises(ConfigurationError, match=message):
        compare_evaluations(tmp_path / "base" / "own", tmp_path / "taught")
    shutil.rmtree(tmp_path / "base" / "own")
    again = f"evaluations_dir={tmp_path / 'base' / 'twice'}"
    evaluate("sums", "+predictor.limit=1", again, "task.name=sums")
    message = re.escape("are both evaluations of sums (validation)")
    with pytest.raises(ConfigurationError, match=message):
        compare_evaluations(tmp_path / "base", tmp_path / "taught")
