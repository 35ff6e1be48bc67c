"""Plans from the command line: files in m&m's format, and a student by rule."""

import json

import pytest

from dataenvgym.storage import read_json

PLANNER = '''
from dataenvgym.students.predictors import ScriptedPredictor


class Planner(ScriptedPredictor):
    """Plans a caption for any request, and a story once it has learned; draws nothing else."""

    def __init__(self):
        super().__init__(self.reply)

    def reply(self, conversation):
        request = conversation[-1].content
        steps = ["image captioning"]
        if "story" in request and self.records:
            steps.append("text generation")
        return "\\n".join(f"x = {name.replace(' ', '_')}()" for name in steps)
'''
TOOLS = {name: {"description": "Does it."} for name in ("image captioning", "text generation")}
CHOSEN = (
    "task=plans",
    "task.form=code",
    "task.tools=tools.json",
    "task.sources={train: train.jsonl, validation: verified.json, test: filtered.json}",
    "predictor=custom",
    "predictor._target_=planner.Planner",
)


def row(number: int) -> dict:
    names = ["image captioning", *["text generation"] * (number % 2)]
    steps = [{"id": i, "name": name, "args": {}} for i, name in enumerate(names)]
    kind = "story" if number % 2 else "caption"
    return {"id": number, "user_request": f"A {kind}, number {number}", "plan_str": str(steps)}


@pytest.fixture
def plans(folder):
    """The files of a user: 8 requests for training, 10 verified ones, of which 4 are filtered."""
    rows = [row(n) for n in range(18)]
    for name, some in (
        ("train.jsonl", rows[10:]),
        ("verified.json", rows[:10]),
        ("filtered.json", rows[6:10]),
    ):
        (folder / name).write_text("".join(f"{json.dumps(values)}\n" for values in some))
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    (folder / "planner.py").write_text(PLANNER)
    return folder


def test_an_evaluation_shows_the_metrics_and_can_be_scored_again(dataenvgym, plans):
    assert "tool_macro_f1" in dataenvgym.succeeds("eval", *CHOSEN, "name=e").out
    report = read_json(plans / "evaluations" / "e" / "results.json")["report"]
    # captions are right; of two tools, one is in all 6 plans and the other in 3 gold plans only
    assert (report["score"], report["accuracy"]) == (0.5, 0.5)
    scores = {n: round(report["scores"][n], 3) for n in ("tool_macro_f1", "edge_f1")}
    assert scores == {"tool_macro_f1": 0.5, "edge_f1": 0.0}
    # 6 TP (the calls of captions), 3 FN: 12 / 15
    assert report["scores"]["argument_name_f1"] == pytest.approx(0.8)
    assert [(s["skill"], s["scores"]["tool_recall"]) for s in report["skills"]] == [
        ("image_captioning", 1.0),
        ("image_captioning > text_generation", 0.5),
    ]
    again = dataenvgym.succeeds("rescore", "e")
    assert "0 of 6 samples changed" in again.out
    by_names = dataenvgym("rescore", "e", "task.correct_by=argument_names")
    assert "0 of 6 samples changed" not in by_names.out  # their answers have parentheses now


def test_a_run_teaches_plans_and_its_files_have_the_metrics(dataenvgym, plans):
    taught = ("agent=skill_list", "agent/engine=gold", "agent.policy.choose=highest_error")
    run = ("run", *CHOSEN, *taught, "episode.iterations=1", "name=r")
    result = dataenvgym.succeeds(*run)
    assert "validation 0.500 -> 1.000 (+0.500) at iteration 1; test 0.500 -> 1.000" in result.out
    iterations = read_json(plans / "runs" / "r" / "summary.json")["iterations"]
    assert [one["named_scores"]["tool_macro_f1"] for one in iterations] == [0.5, 1.0]
    report = (plans / "runs" / "r" / "report.md").read_text()
    assert "| 1 step | image\\_captioning | 1.000 | 1.000 | +0.000 |" in report
    for column in ("base", "iteration 1"):
        assert f"| tool\\_macro\\_f1, {column} |" in report
    assert "| 0.000 | 1.000 | +1.000 |" in report
    dataenvgym.succeeds(*run)
