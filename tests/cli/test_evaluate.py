"""`dataenvgym eval`: a student on a task, without training."""

import re
import sys
from pathlib import Path

import pytest

from dataenvgym.records import CompletedTaskInstance
from dataenvgym.runs.evaluation.directory import EVALUATIONS
from dataenvgym.storage import read_json, read_jsonl, read_models, write_json, write_jsonl


def overall(out: str) -> float:
    """The score in the table's last line."""
    (line,) = (line for line in out.splitlines() if line.strip().startswith("all"))
    return float(line.split()[1])


def test_it_shows_the_score_of_each_skill_and_writes_the_transcripts(dataenvgym, small, folder):
    output = folder / "out" / "completed.jsonl"
    result = dataenvgym.succeeds("eval", *small, "+predictor.wit=100", "--output", str(output))
    assert overall(result.out) == 1.0
    assert "descending" in result.out
    assert all(c.was_correct for c in read_models(output, CompletedTaskInstance))
    assert len(read_models(output, CompletedTaskInstance)) == 20
    chosen = ("--split", "test", "--limit", "5", "--output", str(output))
    assert dataenvgym("eval", *small, *chosen).code == 0
    ids = [c.instance.id for c in read_models(output, CompletedTaskInstance)]
    assert ids == [f"pocket_math-test-{i:05d}" for i in range(5)]


def test_the_student_of_a_run_answers_as_it_did_there(dataenvgym, small, folder, run):
    summary = read_json(run / "summary.json")
    scores = [round(i["val_score"], 3) for i in summary["iterations"]]
    assert overall(dataenvgym("eval", "--run", "r", "--trust").out) == max(scores)
    for iteration, score in enumerate(scores):
        result = dataenvgym("eval", "--run", "r", "--trust", "--iteration", str(iteration))
        assert overall(result.out) == score
    missing = ("eval", "--run", "r", "--trust", "--iteration", "9")
    dataenvgym.refuses("has no iteration 9, only 0 to 2", *missing)
    adapter = run / "iterations" / "001" / "adapter"
    assert overall(dataenvgym("eval", *small, "--adapter", str(adapter)).out) == scores[1]
    (folder / "own.jsonl").write_text('{"question": "Who?", "answer": "#### 1"}\n')
    task = ("task=math_jsonl", "task.sources={validation: own.jsonl}", "task.name=own")
    result = dataenvgym("eval", "--run", "r", "--trust", *task)
    assert result.code == 0
    assert "own, validation split: iteration" in result.out


def test_the_floor_shows_what_the_same_reply_to_every_problem_earns(dataenvgym, small, folder):
    result = dataenvgym.succeeds("eval", "--floor", *small)
    lines = [line.split() for line in result.out.splitlines() if "." in line]
    assert ["(empty)", "0.000", "0.000"] in lines
    assert any(line[0] == "####" and float(line[-1]) > 0 for line in lines)
    assert not (folder / "evaluations").exists()


# --- students by name ---


def test_a_student_may_be_named_in_one_word(dataenvgym, folder, monkeypatch):
    small_task = ("task.n_validation=20", "task.n_test=1", "task.n_train=1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY is not set" in dataenvgym("eval", *small_task, "model=openai/gpt").err
    output = folder / "completed.jsonl"
    result = dataenvgym.succeeds("eval", *small_task, "model=hf/pocket", "--output", str(output))
    assert 0.0 < overall(result.out) < 1.0
    assert len(read_models(output, CompletedTaskInstance)) == 20


# --- several samples ---

TALKATIVE = '''
from pathlib import Path

from dataenvgym.interfaces import Failure, Reply
from dataenvgym.seeding import derive_rng


class Guesser:
    """Answers by question and seed."""

    def __init__(self, options=3):
        self.options = options

    def predict(self, conversations, sampling):
        if Path("dead").exists():
            return [Failure(reason="the line is dead") for _ in conversations]
        Path("asked").open("a").write(f"{len(conversations)} ")
        return [Reply(text=self._say(c[-1].content, sampling.seed)) for c in conversations]

    def _say(self, question, seed):
        number = int(derive_rng(seed, question).integers(self.options))
        return f"#### {number}" if number else "no idea"
'''
DRAWN = (
    "predictor=custom",
    "predictor._target_=talkative.Guesser",
    "task.n_validation=20",
    "task.sampling.temperature=1.0",
    "chunk=8",
)


@pytest.fixture
def talkative(folder, monkeypatch):
    (folder / "talkative.py").write_text(TALKATIVE)
    monkeypatch.delitem(sys.modules, "talkative", raising=False)
    return folder


def metric(out: str, name: str) -> float:
    (line,) = (line for line in out.splitlines() if line.split()[:1] == [name])
    return float(line.split()[1])


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, with its content, without the seconds."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {
        str(p.relative_to(folder)): re.sub(rb'"seconds": [\d.e-]+', b"", p.read_bytes())
        for p in files
    }


def test_metrics_of_several_samples_are_shown_and_every_sample_is_written(dataenvgym, talkative):
    names = "metrics=[pass@1,pass@5,pass^2,majority@3,pass@1[avg-of-10],no_answer_rate]"
    result = dataenvgym.succeeds("eval", *DRAWN, "samples=10", names, "name=e")
    samples = [
        row
        for part in sorted((talkative / "evaluations" / "e" / "samples").glob("*.jsonl"))
        for row in read_jsonl(part)
    ]
    assert len(samples) == 200
    assert {*samples[0]} == {
        "instance_id", "sample", "seed", "transcript", "reward", "was_correct", "error", "note",
        "scores", "answer_class",
    }  # fmt: skip
    accuracy = sum(s["was_correct"] for s in samples) / 200
    assert metric(result.out, "pass@1") == pytest.approx(accuracy, abs=5e-5)
    assert metric(result.out, "pass@1[avg-of-10]") == pytest.approx(accuracy, abs=5e-5)
    silent = sum(s["answer_class"] is None for s in samples) / 200
    assert metric(result.out, "no_answer_rate") == pytest.approx(silent, abs=5e-5)
    assert metric(result.out, "pass^2") <= accuracy <= metric(result.out, "pass@5")
    assert overall(result.out) == round(accuracy, 3)


def test_a_finished_evaluation_asks_nothing_and_more_samples_extend_it(dataenvgym, talkative):
    asked = talkative / "asked"
    first = dataenvgym("eval", *DRAWN, "samples=2", "name=e")
    before = tree(talkative / "evaluations" / "e")
    assert asked.read_text() == "8 8 4 8 8 4 "
    again = dataenvgym("eval", *DRAWN, "samples=2", "name=e")
    assert "was finished already" in again.out
    assert "more samples extend it" in again.out
    begun, _, shown = first.out.partition("\n")
    assert begun == "evaluation: evaluations/e"
    assert again.out.startswith(shown)
    assert asked.read_text() == "8 8 4 8 8 4 "
    assert tree(talkative / "evaluations" / "e") == before
    assert dataenvgym("eval", *DRAWN, "samples=3", "name=e").code == 0
    assert asked.read_text() == "8 8 4 8 8 4 8 8 4 "
    assert dataenvgym("eval", *DRAWN, "samples=2", "name=e", "--fresh").code == 0
    assert tree(talkative / "evaluations" / "e") == before


def test_a_finished_evaluation_of_other_problems_is_not_shown_as_theirs(dataenvgym, talkative):
    problems = talkative / "problems.jsonl"
    rows = [{"question": f"{i} + {i}?", "answer": f"#### {2 * i}"} for i in range(60)]
    write_jsonl(problems, rows)
    own = (*DRAWN[:2], "task=math_jsonl", f"task.sources={problems}", "name=own")
    assert dataenvgym("eval", *own).code == 0
    write_jsonl(problems, [{**row, "answer": "#### 1"} for row in rows])
    changed = dataenvgym.refuses("was begun with instances", "eval", *own)
    assert "dataenvgym rescore" in changed.err
    problems.unlink()
    gone = dataenvgym("eval", *own)
    assert gone.code == 0
    assert "was finished already" in gone.out
    assert "still the same cannot be seen: there is no file" in gone.out


def test_a_finished_evaluation_of_another_student_is_not_shown_as_its_own(dataenvgym, talkative):
    module = talkative / "talkative.py"
    module.write_text(TALKATIVE + "\n    def describe(self):\n        return open('who').read()\n")
    who = talkative / "who"
    who.write_text("Ann")
    assert dataenvgym("eval", *DRAWN, "name=e").code == 0
    assert dataenvgym("eval", *DRAWN, "name=e").code == 0
    changed = dataenvgym.refuses("split: ", "eval", *DRAWN, "name=e", "--split", "test")
    assert "'validation' -> 'test'" in changed.err
    assert dataenvgym("eval", *DRAWN, "name=e", "metrics=[no_answer_rate]").code == 0
    who.write_text("Ben")
    dataenvgym.refuses("was begun with predictor = 'Ann', not 'Ben'", "eval", *DRAWN, "name=e")


def test_calls_that_failed_are_drawn_again_when_asked_for(dataenvgym, talkative):
    (talkative / "dead").touch()
    result = dataenvgym("eval", *DRAWN)
    assert result.code == 1
    assert "no sample could be scored: the line is dead" in result.err
    (talkative / "dead").unlink()
    assert dataenvgym("eval", *DRAWN).code == 1
    result = dataenvgym("eval", *DRAWN, "--retry-errors")
    assert result.code == 0
    assert metric(result.out, "error_rate") == 0.0


def test_failures_are_counted_by_whose_fault_they_are(dataenvgym, talkative):
    gold = {"gold": [{"name": "cancel_order", "arguments": {"order_id": "order_1"}}]}
    model = {"kind": "model", "instructions": "You are Ann."}  # and there is no such speaker
    rows = [{"id": f"i{k}", "instruction": f"Order {k}?", **gold} for k in range(3)]
    rows += [{"id": "j", "instruction": "Well?", "user": model, **gold}]
    write_jsonl(talkative / "own.jsonl", rows)
    task = ("task=shop", "task.sources={validation: own.jsonl}")
    guesser = ("predictor=custom", "predictor._target_=talkative.Guesser")
    result = dataenvgym("eval", *task, *guesser)
    assert result.code == 0
    line = "not solved, by whose fault: 1 infrastructure, 3 student"
    assert line in result.out


def test_several_samples_of_a_greedy_task_get_a_temperature_and_one_stays_greedy(
    dataenvgym, talkative
):
    greedy = [o for o in DRAWN if "temperature" not in o]
    for number, temperature in ((3, 1.0), (1, 0.0)):
        result = dataenvgym.succeeds("eval", *greedy, f"samples={number}", f"name=e{number}")
        assert ("samples of each problem at temperature 1.0" in result.out) == (number > 1)
        settings = EVALUATIONS.read(talkative / "evaluations" / f"e{number}")
        assert settings.task.sampling.temperature == temperature
    (talkative / "tempered.py").write_text(
        "from dataenvgym.domains.math.pocket import PocketMathTask\n"
        "class Mine(PocketMathTask):\n"
        "    def __init__(self, **options):\n"
        "        super().__init__(n_validation=5, **options)\n"
    )
    mine = ("eval", "task=tempered.Mine", *DRAWN[:2], "samples=2")
    dataenvgym.refuses("(+task.sampling.temperature=1.0)", *mine)
    assert dataenvgym(*mine, "+task.sampling.temperature=1.0").code == 0
    again = dataenvgym("eval", *greedy, "samples=1", "name=e1")  # greedy ones cannot be extended
    assert "finished already: --fresh starts over" in again.out


# --- suites, summaries, comparisons ---

SUITE = ("task=pocket_math:2,pocket_code", *DRAWN, "--limit", "5")


def test_a_suite_is_shown_as_one_table_and_so_is_a_folder(dataenvgym, talkative):
    dry = dataenvgym.succeeds("eval", *SUITE, "--dry")
    assert dry.out.count("The student's first prompt") == 2
    assert not (talkative / "asked").exists()
    (talkative / "dead").touch()
    result = dataenvgym("eval", *SUITE, "evaluations_dir=elsewhere")
    assert result.code == 1
    assert "2 of 2 evaluations have no score" in result.err
    assert "pocket_code (elsewhere/pocket_code-" in result.err
    (talkative / "dead").unlink()
    result = dataenvgym.succeeds("eval", *SUITE, "name=mine", "--output", "all.jsonl")
    rows = [line.split() for line in result.out.splitlines()]
    assert [row[:4] for row in rows if row[:1] == ["pocket_math"]] == [
        ["pocket_math", "validation", "5", "2"]
    ]
    assert [row[0] for row in rows if row][-5:-2] == ["pocket_math", "pocket_code", "mean"]
    assert {"pass@k", "majority@k", "seconds"} < {word for row in rows for word in row}
    assert len(read_models(talkative / "all.jsonl", CompletedTaskInstance)) == 15
    table = result.out[result.out.index("\ntask") + 1 :]
    chosen = ("evaluations/mine", "--output", "rows.json")
    again = dataenvgym.succeeds("summary", *chosen).out  # sorted by name
    assert sorted(again.splitlines()) == sorted(table.splitlines())
    written = {row["task"]: row for row in read_json(talkative / "rows.json")}
    assert written["pocket_math"]["metrics"]["pass@k"]["name"] == "pass@2"
    again = dataenvgym.succeeds("eval", *SUITE, "name=mine")
    assert "This was finished already" in again.out
    first = next((talkative / "evaluations" / "mine").glob("pocket_math*"))
    (first / "results.json").unlink()
    assert f"not finished: {first.relative_to(talkative)}" in dataenvgym("summary").out
    (first / "results.json").write_text("{")
    result = dataenvgym("summary")
    assert result.code == 2
    assert "pocket_code" in result.out  # the others are shown
    assert "1 of 2 evaluations are not shown: " in result.err
    assert "results.json is damaged" in result.err.replace("\n", " ")


def test_what_others_wrote_into_an_evaluation_controls_no_terminal(dataenvgym, talkative):
    assert dataenvgym("eval", *DRAWN, "name=a").code == 0
    folder = talkative / "evaluations" / "a"
    results = read_json(folder / "results.json")
    results["report"]["task"] = results["metrics"][0]["name"] = "\x1b[31mred"
    write_json(folder / "results.json", results)
    problems = read_jsonl(folder / "instances.jsonl")
    write_jsonl(folder / "instances.jsonl", [{**p, "skill": "\x1b[31m"} for p in problems])
    (folder / "files.json").unlink()
    for command in (["summary", "evaluations"], ["compare", "a", "a"]):
        assert "\x1b" not in dataenvgym.succeeds(*command).out


def test_evaluations_are_compared_by_name(dataenvgym, talkative):
    for name, options in (("a", 1), ("b", 3)):
        chosen = (f"+predictor.options={options}", f"name={name}")
        assert dataenvgym("eval", *DRAWN, *chosen).code == 0
    result = dataenvgym.succeeds("compare", "a", "evaluations/b", "--output", "compared")
    assert "pocket_math, validation: 20 problems" in result.out
    assert re.search(r"accuracy +0\.000 +0\.\d+ +\+0\.\d+ +[+-]0\.\d+ to \+0\.\d+", result.out)
    assert re.search(r"wrong -> right: [1-9]\d* problem", result.out)
    (written,) = read_json(talkative / "compared" / "comparison.json")
    assert len(written["flips"]) == int(re.search(r"right: (\d+)", result.out)[1])
    same = dataenvgym.succeeds("compare", "a", "a")
    assert re.search(r"accuracy +0\.000 +0\.000 +\+0\.000 +- *\n", same.out)
    (talkative / "runs" / "a").mkdir(parents=True)  # a run of the same name
    dataenvgym.refuses(
        "evaluations/b is an evaluation, and compare takes two evaluations", "compare", "b", "a"
    )
    (talkative / "runs" / "a").rmdir()
    dataenvgym.refuses("got ['nothing']", "compare", "a", "nothing")
    dataenvgym.refuses("--baseline is for runs", "compare", "a", "b", "--baseline", "a")


# --- costs ---

PAID = """
from dataenvgym.interfaces import Reply


class Paid:
    def __init__(self, text, cost):
        self.text, self.cost = text, cost

    def predict(self, conversations, sampling):
        took = {"prompt_tokens": 10, "completion_tokens": 2, "seconds": 0.5, "cost": self.cost}
        return [Reply(text=self.text, **took) for _ in conversations]


def student(cost=0.25):
    return Paid("Strategy: look", cost)


def speaker():
    return Paid("Action: look", None)
"""
STRATEGIST = (
    "task=textworld_house", "task.role=strategist", "task.max_turns=3", "predictor=custom",
    "predictor._target_=paid.student", "task.others.speaker=paid.speaker", "--limit", "2",
)  # fmt: skip


def test_costs_of_each_speaker_are_shown_and_saved_and_an_unknown_one_is_no_zero(
    dataenvgym, folder
):
    (folder / "paid.py").write_text(PAID)
    rows = [
        ["student", "60", "12", "150", "3"],
        ["speaker", "60", "12", "unknown", "3"],
        ["all", "120", "24", "unknown", "6"],
    ]
    out = dataenvgym.succeeds("eval", *STRATEGIST, "name=mine").out
    assert [row for line in out.splitlines() if (row := line.split()) in rows] == rows
    saved = read_json(folder / "evaluations" / "mine" / "costs.json")
    speaker = {"prompt_tokens": 60, "completion_tokens": 12, "seconds": 3.0, "cost": None}
    assert saved["speakers"] == {"student": {**speaker, "cost": 1.5}, "speaker": speaker}
    assert [costs["speaker"]["prompt_tokens"] for costs in saved["problems"].values()] == [30, 30]
    again = dataenvgym.succeeds("eval", *STRATEGIST, "name=mine").out
    assert [row for line in again.splitlines() if (row := line.split()) in rows] == rows
    table = dataenvgym.succeeds("summary", "evaluations/mine", "--output", "rows.json").out
    assert sum(line.split()[-5:] in rows for line in table.splitlines()) == 3
    assert read_json(folder / "rows.json")[0]["costs"] == saved["speakers"]
