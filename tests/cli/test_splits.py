"""Which problems `eval` puts, and that it says so."""

import json

import pytest

from dataenvgym.storage import read_json

OWN = ("task=math_jsonl", "task.sources=own.jsonl", "predictor=custom")
MY_STUDENT = ("predictor._target_=my_students.MyStudent",)


@pytest.fixture
def own(folder):
    """A file of 20 problems in the current folder."""
    rows = [{"question": f"{i} + 1 = ?", "answer": f"#### {i + 1}"} for i in range(20)]
    (folder / "own.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def n_evaluated(out: str) -> int:
    (line,) = (line for line in out.splitlines() if line.strip().startswith("all  "))
    return int(line.split()[-1])


def test_an_evaluation_of_one_file_is_about_all_its_rows(dataenvgym, own):
    result = dataenvgym("eval", *OWN, *MY_STUDENT)
    assert (result.code, result.err, n_evaluated(result.out)) == (0, "", 20)
    assert "math, all problems: the student" in result.out
    (evaluation,) = (own / "evaluations").iterdir()
    again = dataenvgym.succeeds("rescore", evaluation.name)
    assert "0 of 20 samples changed" in again.out


def test_an_evaluation_warns_about_odd_data(dataenvgym, folder):
    row = f"{json.dumps({'question': '1 + 1 = ?', 'answer': '#### 2'})}\n"
    (folder / "own.jsonl").write_text(row * 3)
    result = dataenvgym("eval", *OWN, *MY_STUDENT, "name=e")
    assert (result.code, n_evaluated(result.out)) == (0, 3)
    assert result.out.count("warning: math: 2 of 3 problems repeat") == 1
    assert dataenvgym("rescore", "e").out.count("warning: math: 2 of 3 problems repeat") == 1


def test_a_split_of_one_file_shows_its_share_then_and_later(dataenvgym, own):
    for _ in range(2):
        result = dataenvgym("eval", *OWN, *MY_STUDENT, "--split", "validation", "name=e")
        assert n_evaluated(result.out) == 2
        assert "2 of 20 problems (validation is 10%); --split all takes all" in result.out
    kept = (own / "evaluations" / "e" / "config.yaml").read_text()
    assert "problems: 2 of 20 problems (validation is 10%)" in kept
    limited = dataenvgym("eval", *OWN, *MY_STUDENT, "--limit", "3")
    assert "the first 3 of 20 problems" in limited.out


def test_a_run_shows_the_shares_of_its_splits_and_training_problems_are_not_evaluated(
    dataenvgym, own
):
    run = ("run", *OWN, *MY_STUDENT, "agent=none", "episode.iterations=1", "name=r")
    result = dataenvgym.succeeds(*run)
    parts = {split: f"2 of 20 problems ({split} is 10%)" for split in ("validation", "test")}
    for split, part in parts.items():
        assert f"{split}: {part}" in result.out
    assert read_json(own / "runs" / "r" / "summary.json")["problems"] == parts
    assert f"| {parts['validation']} |" in (own / "runs" / "r" / "report.md").read_text()
    assert parts["test"] in dataenvgym("report", "r").out
    adapter = own / "runs" / "r" / "iterations" / "001" / "adapter"
    adapter.mkdir(exist_ok=True)
    (adapter / "scripted.json").write_text('{"trainings": 1, "records": 0}')
    of_run = ("--run", "r", "--trust")
    for chosen in (of_run, (*of_run, *OWN[:2]), (*OWN, *MY_STUDENT, "--adapter", adapter)):
        evaluated = dataenvgym("eval", *map(str, chosen))
        assert parts["validation"] in evaluated.out, evaluated.err


def test_a_run_on_a_task_without_a_test_split_ends_without_a_test_score(dataenvgym, own):
    sources = "task.sources={validation: own.jsonl}"
    options = ("agent=none", "episode.iterations=1", "name=r")
    assert dataenvgym("run", OWN[0], sources, OWN[2], *MY_STUDENT, *options).code == 0
    assert read_json(own / "runs" / "r" / "summary.json")["test_score_after"] is None
