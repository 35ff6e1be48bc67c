"""`dataenvgym eval`: a student on a task, without training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


# --- students by name ---

STAND_IN = Path(__file__).parents[1] / "predictors" / "vllm" / "stand_in_server.py"


@pytest.fixture
def server(tmp_path):
    """The URL of a model behind an API; it repeats the question."""
    (tmp_path / "state").mkdir()
    command = [sys.executable, str(STAND_IN), "--state", str(tmp_path / "state")]
    with subprocess.Popen(
        [*command, "--served-model-name", "gpt"], stdout=subprocess.PIPE, text=True
    ) as process:
        yield f"http://127.0.0.1:{process.stdout.readline().split()[-1]}"
        process.kill()


SMALL_TASK = ("task.n_validation=20", "task.n_test=1", "task.n_train=1")


def test_a_student_may_be_named_in_one_word(dataenvgym, folder):
    output = folder / "completed.jsonl"
    result = dataenvgym("eval", *SMALL_TASK, "model=hf/pocket", "--output", str(output))
    assert (result.code, result.err) == (0, "")
    assert 0.0 < overall(result.out) < 1.0
    assert len(read_completed(output)) == 20


def test_a_model_behind_an_api_is_evaluated(dataenvgym, folder, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    output = folder / "completed.jsonl"
    asked = ("model=openai/gpt", f"predictor.base_url={server}")
    result = dataenvgym("eval", *SMALL_TASK, *asked, "--output", str(output))
    assert (result.code, result.err) == (0, "")
    completed = read_completed(output)
    assert [c.error for c in completed] == [None] * 20
    assert all(c.transcript[-1].content == f"base|{c.instance.instruction}" for c in completed)


def test_a_key_that_is_missing_is_a_users_error(dataenvgym, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = dataenvgym("eval", *SMALL_TASK, "model=openai/gpt")
    assert result.code == 2
    assert "OPENAI_API_KEY is not set" in result.err


def test_a_model_that_learns_nothing_takes_up_no_adapter_and_no_run(dataenvgym, small):
    dataenvgym("run", *small, "name=r")
    for arguments in (
        ("--adapter", "somewhere"),
        ("--run", "r"),
        ("--run", "r", "--iteration", "0"),
    ):
        result = dataenvgym("eval", "model=openai/gpt", *arguments)
        assert result.code == 2
        assert "OpenAIPredictor, which answers and learns nothing" in result.err
