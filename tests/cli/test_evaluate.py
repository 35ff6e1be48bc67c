"""`dataenvgym eval`: a student on a task, without training."""

from __future__ import annotations

import pytest

from dataenvgym.environments.iterations import read_completed
from dataenvgym.storage import read_json


def overall(out: str) -> float:
    """The score in the table's last line."""
    (line,) = (line for line in out.splitlines() if line.strip().startswith("all"))
    return float(line.split()[1])


def test_it_shows_the_score_of_each_skill_and_writes_the_transcripts(dataenvgym, small, folder):
    output = folder / "out" / "completed.jsonl"
    result = dataenvgym("eval", *small, "+predictor.wit=100", "--output", str(output))
    assert (result.code, result.err) == (0, "")
    assert overall(result.out) == 1.0
    assert "descending" in result.out
    assert all(c.was_correct for c in read_completed(output))
    assert len(read_completed(output)) == 20


def test_split_and_limit_choose_the_problems(dataenvgym, small, folder):
    output = folder / "completed.jsonl"
    arguments = ("--split", "test", "--limit", "5", "--output", str(output))
    assert dataenvgym("eval", *small, *arguments).code == 0
    ids = [c.instance.id for c in read_completed(output)]
    assert ids == [f"pocket_math-test-{i:05d}" for i in range(5)]


def test_the_student_of_a_run_answers_as_it_did_there(dataenvgym, small, folder):
    dataenvgym("run", *small, "name=r")
    summary = read_json(folder / "runs" / "r" / "summary.json")
    scores = [round(i["val_score"], 3) for i in summary["iterations"]]
    assert overall(dataenvgym("eval", "--run", "r").out) == max(scores)
    for iteration, score in enumerate(scores):
        result = dataenvgym("eval", "--run", "r", "--iteration", str(iteration))
        assert overall(result.out) == score
    adapter = folder / "runs" / "r" / "iterations" / "001" / "adapter"
    assert overall(dataenvgym("eval", *small, "--adapter", str(adapter)).out) == scores[1]


def test_the_student_of_a_run_may_be_put_to_another_task(dataenvgym, small, folder):
    dataenvgym("run", *small, "name=r")
    (folder / "own.jsonl").write_text('{"question": "Who?", "answer": "#### 1"}\n')
    task = ("task=math_jsonl", "task.sources={validation: own.jsonl}", "task.name=own")
    result = dataenvgym("eval", "--run", "r", *task)
    assert result.code == 0
    assert "own, validation split: iteration" in result.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--split", "tset"], "Did you mean 'test'?"),
        (["--limit", "0"], "--limit is 0"),
        (["--limit", "many"], "invalid int value"),
        (["--iteration", "1"], "name it with --run"),
        (["--run", "nothing"], "there is no run 'nothing'"),
        (["--adapter", "nowhere"], "nowhere holds no scripted student"),
        (["--run", "a", "--adapter", "b"], "not allowed with"),
    ],
)
def test_what_cannot_be_is_a_users_error(dataenvgym, small, arguments, expected):
    result = dataenvgym("eval", *small, *arguments)
    assert result.code == 2
    assert expected in result.err


def test_an_iteration_that_the_run_has_not_is_named(dataenvgym, small):
    dataenvgym("run", *small, "name=r")
    result = dataenvgym("eval", "--run", "r", "--iteration", "9")
    assert (result.code, result.out) == (2, "")
    assert "has no iteration 9, only 0 to 2" in result.err
