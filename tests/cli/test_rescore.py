"""`dataenvgym rescore`: the samples of an evaluation judged again."""

import sys

import pytest

from dataenvgym.runs.evaluation.directory import EVALUATIONS
from dataenvgym.storage import read_jsonl

RATHER = """
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Outcome, Task, TaskEnvironment
from dataenvgym.records import TaskInstance


class Sayer(ScriptedPredictor):
    def __init__(self):
        super().__init__(lambda conversation: conversation[-1].content.upper())


class Environment(TaskEnvironment):
    def __init__(self, instances, strict, fails):
        super().__init__(instances)
        self.strict = strict
        self.fails = fails
        if fails == "make":
            raise ValueError("no line")

    def respond(self, instance, conversation):
        if self.fails == "respond":
            raise OSError("no scales")
        said = conversation[-1].content
        right = said == instance.answer if self.strict else said.lower() == instance.answer
        return Outcome(reward=float(right), was_correct=right)


class Echo(Task):
    name = "echo"

    def __init__(self, *, strict=True, fails="", words="ab1", **options):
        super().__init__(**options)
        self.strict = strict
        self.fails = fails
        self.words = words

    def load(self, split):
        return [TaskInstance(id=w, task="echo", instruction=w, answer=w) for w in self.words]

    def make_environment(self):
        return Environment(self.instances, self.strict, self.fails)
"""
ECHO = ("task=custom", "task._target_=rather.Echo", "+task.strict=true")
SAYER = ("predictor=custom", "predictor._target_=rather.Sayer")


@pytest.fixture(autouse=True)
def _echo(folder, monkeypatch):
    (folder / "rather.py").write_text(RATHER)
    monkeypatch.delitem(__import__("sys").modules, "rather", raising=False)


def test_a_more_lenient_scorer_changes_the_expected_scores(dataenvgym, folder):
    assert dataenvgym("eval", *ECHO, *SAYER, "name=e").code == 0
    samples = (folder / "evaluations" / "e" / "samples" / "000-0000.jsonl").read_bytes()
    same = dataenvgym.succeeds("rescore", "--trust", "e")
    assert "0 of 3 samples changed" in same.out

    milder = dataenvgym("rescore", "--trust", "evaluations/e", "task.strict=false")
    assert milder.code == 0
    (line,) = (line for line in milder.out.splitlines() if line.strip().startswith("pass@1"))
    assert line.split() == ["pass@1", "0.3333", "1.0000", "+0.6667"]
    assert "2 of 3 samples changed\n  wrong -> right: 2" in milder.out
    assert "a #0: wrong (0, 'A') -> right (1, 'A')" in milder.out
    scores = list(read_jsonl(folder / "evaluations" / "e" / "rescored-002" / "scores.jsonl"))
    assert [(s["was_correct"], s["before"]["was_correct"]) for s in scores] == [
        (True, False), (True, False), (True, True),
    ]  # fmt: skip
    assert (folder / "evaluations" / "e" / "samples" / "000-0000.jsonl").read_bytes() == samples


def test_other_metrics_are_computed_from_existing_samples(dataenvgym, folder):
    drawn = ("+task.sampling.temperature=1.0", "samples=3", "metrics=pass@1")
    assert dataenvgym("eval", *ECHO, *SAYER, *drawn, "name=e").code == 0
    result = dataenvgym.succeeds("rescore", "--trust", "e", "metrics=[pass^3,majority@3]")
    shown = [line.split()[0] for line in result.out.splitlines() if "@" in line or "^" in line]
    assert shown == ["pass^3", "majority@3"]
    kept = EVALUATIONS.read(folder / "evaluations" / "e" / "rescored-001")
    assert list(kept.metrics) == ["pass^3", "majority@3"]


def test_impossible_options_are_users_errors(dataenvgym, folder):
    assert dataenvgym("eval", *ECHO, *SAYER, "name=mine").code == 0
    (folder / "evaluations" / "half").mkdir()
    for arguments, expected in (
        (["mind"], "there is no evaluation 'mind'. Did you mean 'mine'?"),
        (["half"], "is not the folder of an evaluation: it has no config.yaml"),
        (["mine", "task.strikt=false"], "Did you mean 'task.strict'?"),
        (["mine", "student.path=x"], "changes nothing in how the samples are judged"),
        (["mine", "metrics=[pass@2]"], "pass@2"),
        (["mine", "task.strict=1"], "task.strict is 1"),
        (["mine", "task.strict=true,false"], "task.strict"),
    ):
        dataenvgym.refuses(expected, "rescore", "--trust", *arguments)


def test_new_errors_are_shown_with_their_reason(dataenvgym):
    assert dataenvgym("eval", *ECHO, *SAYER, "name=e").code == 0
    result = dataenvgym("rescore", "--trust", "e", "+task.fails=respond")
    assert result.code == 0
    assert "3 samples became errors: environment: OSError: no scales" in result.out


def test_a_folder_that_was_never_finished_is_judged_as_far_as_it_is_complete(dataenvgym, folder):
    drawn = ("+task.sampling.temperature=1.0", "samples=3", "metrics=[pass@3,pass@1]")
    assert dataenvgym("eval", *ECHO, *SAYER, *drawn, "+task.chunk_size=2", "name=e").code == 0
    samples = folder / "evaluations" / "e" / "samples"
    (samples / "002-0001.jsonl").unlink()
    result = dataenvgym.succeeds(
        "rescore", "--trust", "e", "task.strict=false", "task.chunk_size=1"
    )
    assert "2 of 3 samples are complete" in result.out
    assert "pass@3" not in result.out
    assert "4 of 6 samples changed" in result.out
    kept = EVALUATIONS.read(folder / "evaluations" / "e" / "rescored-001")
    assert (kept.task.strict, kept.task.chunk_size) == (False, 1)
    (samples / "000-0000.jsonl").unlink()
    dataenvgym.refuses("has no complete sample", "rescore", "--trust", "e")


def test_an_extension_with_other_problems_is_refused_and_leaves_the_folder_as_it_was(
    dataenvgym, folder
):
    drawn = ("+task.sampling.temperature=1.0", "name=e")
    assert dataenvgym("eval", *ECHO, *SAYER, *drawn).code == 0
    before = (folder / "evaluations" / "e" / "config.yaml").read_bytes()
    (folder / "rather.py").write_text(RATHER.replace("answer=w", 'answer=w + "x"'))
    sys.modules.pop("rather")
    result = dataenvgym("eval", *ECHO, *SAYER, *drawn, "samples=2")
    assert result.code != 0
    assert "was begun with instances" in result.err
    assert "`dataenvgym rescore`" in result.err
    assert (folder / "evaluations" / "e" / "config.yaml").read_bytes() == before
    result = dataenvgym("rescore", "--trust", "e")
    assert result.code == 0
    assert "right -> wrong: 1" in result.out
