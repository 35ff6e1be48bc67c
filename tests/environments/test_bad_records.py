"""Steps with bad records of every kind: dropped records, reasons, and memory of both."""

import json

import pytest

from dataenvgym.agents.quality import AlreadyKnownCheck, WrongAnswerCheck
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import IterationFiles, IterationResult, SkillList
from dataenvgym.errors import RunDirectoryError, TrainingError
from dataenvgym.runs.config import build_environment, compose
from dataenvgym.runs.episodes import run_episode
from dataenvgym.runs.episodes.report import write_report
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import begun

KNOWN = "Put 7 7 7 7 2 1 in rising order."
LONG = (
    "A farmer who lives beside the river counts the animals in her meadow every evening before "
    "she goes home and writes the number into a little red book that her father gave her when she "
    "was a child and the meadow was still a forest full of deer and foxes and owls and nobody had "
    "yet thought of building a road to the town on the other side of the hills"
)


def record(instruction: str, answer: str) -> dict[str, str]:
    return {"instruction": instruction, "output": f"#### {answer}"}


def student() -> ScriptedPredictor:
    """Knows one answer."""
    return ScriptedPredictor(lambda c: "#### 1 2 7 7 7 7" if c[-1].content == KNOWN else "#### 0 0")


def bad_batch(task: PocketMathTask) -> dict[str, dict[str, str]]:
    """A record for each fate, under its name."""
    problem = task.instances[0]
    return {
        "accepted": record("Put 1 1 1 1 1 2 in falling order.", "2 1 1 1 1 1"),
        "duplicate": record("Put 1 1 1 1 1 2, in FALLING order!", "2 1 1 1 1 1"),
        "accepted ": record(f"{LONG} today", "many"),
        "near_duplicate": record(f"{LONG} yesterday", "many"),
        "evaluation_overlap": record(f"Exercise. {problem.instruction}", problem.answer or ""),
        "wrong_answer": record("Put 1 1 1 1 1 3 in falling order.", "1 1 1 1 1 3"),
        "already_known": record(KNOWN, "1 2 7 7 7 7"),
        "accepted  ": record("Put 1 1 1 1 1 4 in falling order.", "4 1 1 1 1 1"),
        "over_budget": record("Put 1 1 1 1 1 5 in falling order.", "5 1 1 1 1 1"),
    }


class Once:
    """An agent that sends one batch, again and again."""

    name = "once"

    def __init__(self, batch):
        self.batch = batch

    def __call__(self, completed, predictor):
        return list(self.batch)

    def step(self):
        pass


def test_a_run_drops_bad_records_by_reason_and_its_report_says_so(tmp_path):
    overrides = ["quality=strict", "environment.max_records=3", "task.n_validation=40"]
    config = compose([*overrides, "task.n_test=40"])
    task = PocketMathTask(n_validation=40, n_test=40)
    batch = bad_batch(task)
    environment = build_environment(config, tmp_path, predictor=student())
    summary = run_episode(environment, Once(batch.values()), iterations=2)
    reasons = dict.fromkeys(sorted(n for n in batch if not n.startswith("accepted")), 1)
    assert summary.iterations[1].dropped == reasons
    files = IterationFiles(tmp_path / "iterations", 1)
    assert {one.record.instruction: one.verdict for one in files.read_checked()} == {
        given["instruction"]: name.strip() for name, given in batch.items()
    }
    assert [r.instruction for r in files.read_records()] == [
        one["instruction"] for name, one in batch.items() if name.startswith("accepted")
    ]
    lines = write_report(tmp_path).read_text().splitlines()
    line = next(line for line in lines if line.startswith("| 1 ") and "duplicate" in line)
    assert all(f"1 {reason}" in line.replace("\\", "") for reason in reasons), line


class Flipping:
    """A check that judges otherwise each time it is asked."""

    reason = "flipping"

    def __init__(self) -> None:
        self.calls = 0

    def passes(self, records, predictor):
        self.calls += 1
        return [(i + self.calls) % 2 == 0 for i in range(len(records))]


def interrupted_step(environment: SkillList, batch: list[dict[str, str]], monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise TrainingError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(environment.predictor, "train", fail)
        with pytest.raises(TrainingError):
            environment.step(batch)


def test_an_interrupted_iteration_is_judged_again_only_for_another_batch(
    task, tmp_path, monkeypatch
):
    check = Flipping()
    environment = begun(SkillList(task, student(), directory=tmp_path, quality=[check]))
    batch = [record(f"Put 1 1 1 1 1 {n} in falling order.", "0") for n in range(2, 8)]
    interrupted_step(environment, batch, monkeypatch)
    path = tmp_path / "iterations/001/records.jsonl"
    judged = path.read_bytes()
    resumed = begun(SkillList(task, student(), directory=tmp_path, quality=[check]), resume=True)
    resumed.step(resumed.pending_action())
    assert check.calls == 1
    assert path.read_bytes() == judged
    assert resumed.results[-1].dropped == {"flipping": 3}
    others = [record(f"Put 2 2 2 2 2 {n} in falling order.", "0") for n in range(3, 9)]
    interrupted_step(resumed, others, monkeypatch)
    resumed.step(others[:2])
    assert check.calls == 3
    assert resumed.results[-1].n_records == 1


def test_quality_checks_belong_to_an_episode(task, tmp_path):
    quality = [WrongAnswerCheck(task), AlreadyKnownCheck(task)]
    SkillList(task, student(), directory=tmp_path, quality=quality).reset(seed=0)
    identity = json.loads((tmp_path / "environment.json").read_bytes())
    assert identity["quality"] == ["wrong_answer", "already_known"]
    other = SkillList(task, student(), directory=tmp_path, quality=quality[:1])
    with pytest.raises(RunDirectoryError, match="quality"):
        other.reset(seed=0, options={"resume": True})


# --- duplicates of earlier iterations ---


def test_a_step_interrupted_before_its_end_leaves_no_trace(task, tmp_path, monkeypatch):
    def full(files: IterationFiles, result: IterationResult) -> None:
        raise OSError("disk full")

    first, second, third = (
        [record(f"Put 1 1 1 1 {k} {n} in falling order.", "0") for n in range(2, 6)]
        for k in range(3)
    )
    environment = begun(SkillList(task, student(), directory=tmp_path))
    environment.step(first)
    with monkeypatch.context() as patch:
        patch.setattr(IterationFiles, "write_result", full)
        with pytest.raises(OSError, match="disk full"):
            environment.step(second)
    environment = begun(SkillList(task, student(), directory=tmp_path), resume=True)
    *_, info = environment.step(second)
    assert info["n_dropped"] == 0
    environment.step([*third, first[0], second[0]])
    assert environment.results[-1].dropped == {"duplicate": 2}
