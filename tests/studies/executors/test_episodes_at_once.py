"""Several episodes in threads of one process."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.episodes import events, read_summary, run_episode
from dataenvgym.storage import read_jsonl
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.studies.executors.in_process import InProcessExecutor

NOISY = '''
import logging, os, threading
from dataenvgym.teachers.client import key_from
from dataenvgym.events import counting
from dataenvgym.events import warn_run
from dataenvgym.events import keep_secret
from my_students import MyStudent

BARRIER = threading.Barrier(1)

class Noisy(MyStudent):
    """Warns, counts, logs and registers a key under its own name."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        keep_secret(f"sk-key-of-{name}")

    def train(self, training_data, run):
        BARRIER.wait(30)
        with counting(f"steps of {self.name}", 2) as count:
            for _ in range(2):
                BARRIER.wait(30)
                warn_run(f"{self.name} met sk-key-of-one and sk-key-of-two")
                logging.getLogger("library").warning("log of %s", self.name)
                count.add()
        super().train(training_data, run)
'''


def contents(directory: Path) -> dict[str, object]:
    """What a run has written, but for its times and the name of its folder."""
    events = [
        {k: v for k, v in event.items() if k not in ("time", "seconds", "name")}
        for event in read_jsonl(directory / "events.jsonl")
    ]
    log = (directory / "log.txt").read_text().splitlines()
    files = {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*.jsonl")
        if path.name != "events.jsonl"
    }
    return {"events": events, "log": [line.split(" ", 2)[2] for line in log], **files}


def test_episodes_at_once_write_what_they_write_one_after_another(scripted, tmp_path, monkeypatch):
    # otherwise more counts are written on a slow machine
    monkeypatch.setattr(events, "_PERIOD", float("inf"))
    Path("noisy.py").write_text(NOISY)

    def episodes(folder: str):
        return [
            scripted("predictor._target_=noisy.Noisy", f"+predictor.name={name}", f"seed={seed}",
                     f"name={name}", f"runs_dir={folder}")
            for seed, name in enumerate(("one", "two"))
        ]  # fmt: skip

    apart, together = episodes("apart"), episodes("together")
    for outcome in InProcessExecutor().run(apart):
        outcome.result()
    import noisy

    monkeypatch.setattr(noisy, "BARRIER", threading.Barrier(2))
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(InProcessExecutor().run, [episode]) for episode in together]
    for run in runs:
        run.result()[0].result()
    for before, after in zip(apart, together, strict=True):
        assert contents(after.directory) == contents(before.directory)
    warnings = read_summary("together/one").warnings
    assert {w.text for w in warnings} == {"one met REDACTED and sk-key-of-two"}


def test_two_episodes_at_once_cannot_have_one_predictor(folder):
    student = ScriptedPredictor(lambda conversation: "#### 1")

    class Meddling:
        def __call__(self, completed, predictor):
            environment = SkillList(PocketMathTask(n_validation=2), student)
            run_episode(environment, Meddling(), iterations=1)

        def step(self):
            pass

    with pytest.raises(ConfigurationError, match="ScriptedPredictor"):
        Meddling()((), student)
