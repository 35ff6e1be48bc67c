"""What `run` and `eval` say about a student whose replies have no answer that can be read."""

import json

import pytest

from dataenvgym.runs.config import build_task, compose
from dataenvgym.storage import read_json

TALKER = '''
from dataenvgym.students.predictors import ScriptedPredictor


class Talker(ScriptedPredictor):
    """Right in every second reply; in prose, but for every fifth one and after a training."""

    def __init__(self):
        super().__init__(self.reply)

    def reply(self, conversation):
        question = conversation[-1].content.strip().splitlines()[0]
        number = int(question.split()[0].removeprefix("#"))
        answer = number + 1 if number % 2 else 0
        marked = self.records or number % 5 == 0
        return f"The answer is {answer}." if marked else f"One finds {answer} here."
'''
STUDENT = ("predictor=custom", "predictor._target_=talker.Talker")


@pytest.fixture
def own(folder):
    """Problems, and a student that answers in prose."""
    rows = [{"question": f"{i} + 1 = ?", "answer": str(i + 1)} for i in range(200)]
    (folder / "own.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    choices = [
        {"question": f"#{i} ?", "choices": ["a cat", "a dog"], "answer": "A"} for i in range(20)
    ]
    (folder / "choices.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in choices))
    (folder / "talker.py").write_text(TALKER)
    return folder


def test_a_run_warns_of_a_base_student_whose_replies_are_not_read(dataenvgym, own):
    task = ("task=math_jsonl", "task.sources=own.jsonl", "agent=gold", "name=r")
    result = dataenvgym.succeeds("run", *task, *STUDENT, "episode.iterations=1")
    summary = read_json(own / "runs" / "r" / "summary.json")
    (warning,) = (w["text"] for w in summary["warnings"] if "no answer" in w["text"])
    base, best = summary["iterations"]
    assert base["no_answer_rate"] > 0.2
    assert base["answered_score"] > base["val_score"]
    assert (best["no_answer_rate"], best["answered_score"]) == (0.0, best["val_score"])
    assert "task.template" in warning
    assert "####" in warning
    said = result.out + result.err
    shown = f"score of the answers {base['answered_score']:.3f} -> {best['answered_score']:.3f}"
    report = (own / "runs" / "r" / "report.md").read_text()
    for text in (" ".join(said.split()), " ".join(report.split())):
        assert warning.split(",")[0] in text
        assert shown in text
    events = (own / "runs" / "r" / "events.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in events]
    first = next(i for i, event in enumerate(told) if event["event"] == "warning")
    assert not any(event.get("iteration") for event in told[:first])  # before any record


@pytest.mark.parametrize(
    "task",
    [
        ("task=math_jsonl", "task.sources=own.jsonl"),
        ("task=questions", "task.graded_by=choice", "task.sources=choices.jsonl"),
    ],
)
def test_an_evaluation_warns_of_replies_that_are_not_read(dataenvgym, own, task):
    result = dataenvgym.succeeds("eval", *task, *STUDENT, "name=e")
    report = read_json(own / "evaluations" / "e" / "results.json")["report"]
    said = " ".join((result.out + result.err).split())
    assert report["no_answer_rate"] > 0.2
    assert f"{report['no_answer_rate']:.0%} of the student's replies" in said
    assert "task.template" in said
    assert "score of the answers" in said


def test_a_student_whose_replies_are_read_is_not_warned_of(dataenvgym, small):
    result = dataenvgym.succeeds("run", *small, "name=r")
    assert "give no answer" not in result.out + result.err


@pytest.mark.parametrize("task", ["math_jsonl", "gsm8k", "gsm8k_hub"])
def test_problems_of_real_models_ask_for_the_form_that_is_read(own, monkeypatch, task):
    monkeypatch.setenv("DATAENVGYM_DATA", str(own))
    config = compose([f"task={task}", "task.sources=own.jsonl", "task.format=auto"])
    problem = build_task(config).on("validation").instances[0]
    task = build_task(config)
    assert "####" in task.domain.prompt(problem)[-1].content
    bare = build_task(compose(["task=pocket_math"]))
    assert bare.domain.prompt(bare.instances[0])[-1].content == bare.instances[0].instruction
