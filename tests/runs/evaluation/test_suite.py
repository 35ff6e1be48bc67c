"""Several evaluations at once: a shared student, parts that fail, a summary of their folders."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dataenvgym.errors import ConfigurationError, EvaluationError, RunDirectoryError
from dataenvgym.runs.evaluation.suite import prepare_suite, run_suite
from dataenvgym.runs.evaluation.summary import evaluations_in, summarize
from tests.processes import environment

STUDENT = '''
import os
import signal
from pathlib import Path

from dataenvgym.interfaces import Failure, Reply
from dataenvgym.seeding import derive_rng


class Guesser:
    """Answers by question and seed; counts how often it is built, asked and closed."""

    def __init__(self):
        Path("built").open("a").write("b")

    def predict(self, conversations, sampling):
        calls = len(Path("asked").read_text().split()) if Path("asked").exists() else 0
        Path("asked").open("a").write(f"{len(conversations)} ")
        if Path("kill").exists() and calls in map(int, Path("kill").read_text().split()):
            os.kill(os.getpid(), signal.SIGKILL)
        if Path("dead").exists() and Path("dead").read_text() in conversations[0][-1].content:
            return [Failure(reason="the line is dead") for _ in conversations]
        return [
            Reply(
                text=f"#### {derive_rng(sampling.seed, c[-1].content).integers(3)}",
                prompt_tokens=len(c[-1].content),
                completion_tokens=2,
            )
            for c in conversations
        ]

    def close(self):
        Path("closed").open("a").write("c")
'''
SMALL = (
    "predictor=custom",
    "predictor._target_=guessing.Guesser",
    "task.n_validation=10",
    "task.sampling.temperature=1.0",
    "chunk=4",
)
TASKS = "task=pocket_math:2,pocket_code,pocket_knowledge"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "guessing.py").write_text(STUDENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("guessing", None)


def tree(folder):
    """Every file with its content, without the seconds and the name of the folder."""
    return {
        path.relative_to(folder).as_posix(): re.sub(rb'"seconds": [\d.e-]+', b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_parts_share_the_student_and_are_ordinary_evaluations(folder):
    parts = list(run_suite([*SMALL, TASKS, "name=mine"], limit=5))
    assert [part.task for part in parts] == ["pocket_math", "pocket_code", "pocket_knowledge"]
    assert [part.directory.parent.as_posix() for part in parts] == ["evaluations/mine"] * 3
    assert (folder / "built").read_text() == "b"
    assert not (folder / "closed").exists()
    rows = [summarize(part.directory) for part in parts]
    assert [(row.task, row.problems, row.samples) for row in rows] == [
        ("pocket_math", 5, 2),
        ("pocket_code", 5, 1),
        ("pocket_knowledge", 5, 1),
    ]
    assert rows[0].metrics["pass@k"].name == "pass@2"
    assert rows[0].usage.replies == 10
    assert rows[0].usage.tokens_each == 2.0
    assert rows[0].student == "guesser"
    assert evaluations_in(Path("evaluations")) == sorted(part.directory for part in parts)
    again = list(run_suite([*SMALL, TASKS, "name=mine"], limit=5))
    assert all(part.evaluation.was_finished for part in again)
    fewer = "task=pocket_math:1,pocket_code,pocket_knowledge"
    first, *_ = run_suite([*SMALL, fewer, "name=mine"], limit=5)
    assert first.evaluation.usage.replies == summarize(first.directory).usage.replies == 5
    (first.directory / "tallies.jsonl").write_text("")
    with pytest.raises(RunDirectoryError, match="tallies"):
        summarize(first.directory)


def test_the_folder_of_a_suite_may_have_quotes(folder):
    prepared = prepare_suite([*SMALL, "task=pocket_math,pocket_code", "name=it's"])
    assert {one.directory.parent.as_posix() for one in prepared} == {"evaluations/it's"}


def test_another_student_takes_the_place_of_the_one_before(folder):
    each = "task=pocket_math,pocket_code"
    unshared = "predictor.wit=${task.n_test}"
    (folder / "guessing.py").write_text(STUDENT.replace("__init__(self)", "__init__(self, wit)"))
    list(run_suite([*SMALL, each, f"+{unshared}", "task.n_test=3"], limit=2))
    assert (folder / "built").read_text() == "b"
    suite = folder / "suite"
    suite.mkdir()
    (suite / "one.yaml").write_text("task: pocket_math\ntask.n_test: 1\n")
    (suite / "two.yaml").write_text("task: pocket_math\ntask.n_test: 2\n")
    list(run_suite([*SMALL, "suite=one,two", f"+{unshared}"], limit=2, config_dir=folder))
    assert (folder / "built").read_text() == "bbb"
    assert (folder / "closed").read_text() == "c"


def test_a_part_that_fails_does_not_stop_the_others(folder):
    (folder / "dead").write_text("Define ")  # all problems of pocket code
    failed = [part for part in run_suite([*SMALL, TASKS], limit=3) if part.error is not None]
    assert [part.task for part in failed] == ["pocket_code"]
    assert isinstance(failed[0].error, EvaluationError)
    assert "the line is dead" in str(failed[0].error)
    assert summarize(failed[0].directory).score is None
    (folder / "dead").unlink()
    parts = list(run_suite([*SMALL, TASKS], limit=3, retry_errors=True))
    assert [part.error for part in parts] == [None] * 3


def test_mistakes_are_found_before_any_student_is_asked(folder):
    missing = "task.sources={validation: none.jsonl}"
    with pytest.raises(ConfigurationError, match="there is no file"):
        list(run_suite([*SMALL[:2], "task=math_jsonl:1,code_jsonl", missing]))
    with pytest.raises(ConfigurationError, match="twice with"):
        prepare_suite([*SMALL, "task=pocket_math,pocket_math"])
    assert not (folder / "asked").exists()
    assert not (folder / "evaluations").exists()
    with pytest.raises(RunDirectoryError, match="no evaluations"):
        evaluations_in(folder)


@pytest.mark.slow
def test_a_suite_killed_ten_times_ends_with_the_files_of_an_undisturbed_one(folder):
    command = [sys.executable, "-m", "dataenvgym.cli.main", "eval", *SMALL, TASKS, "name=suite"]
    undisturbed = folder / "undisturbed"
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    calls = len((folder / "asked").read_text().split())
    assert calls == 12  # ten problems in files of four: twice, once and once
    (folder / "evaluations").rename(undisturbed)
    (folder / "asked").unlink()
    (folder / "kill").write_text("0 1 3 5 7 9 11 13 15 17")  # each call that is killed is repeated
    for kill in range(10):
        ended = subprocess.run(command, check=False, env=environment(), capture_output=True)
        assert ended.returncode == -signal.SIGKILL, kill
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    assert len((folder / "asked").read_text().split()) == calls + 10
    assert tree(folder / "evaluations") == tree(undisturbed)
