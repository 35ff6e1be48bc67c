"""Finished work is shown again on a disk that is read-only."""

import errno
import os
from pathlib import Path

import pytest

from tests.cli.test_adapt import student  # noqa: F401  a fixture
from tests.cli.test_continual import SMALL as SEQUENCES

MINE = ("predictor=custom", "predictor._target_=my_students.MyStudent")
FEW = ("task.n_validation=4", "task.n_test=4")


@pytest.fixture(scope="module", autouse=True)
def _pictures():
    """They are drawn, as shared ones are written in another way."""


def contents_and_times(folder):
    """All files, and when they were written."""
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def make_read_only(folder, monkeypatch):
    """Makes the current folder read-only, also for root."""

    def refuse(path):
        if Path(path).absolute().is_relative_to(folder):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    def guarded(owner, name, writes=lambda *args, **kwargs: True):
        call = getattr(owner, name)

        def calling(path, *args, **kwargs):
            if writes(*args, **kwargs):
                refuse(path)
            return call(path, *args, **kwargs)

        monkeypatch.setattr(owner, name, calling)

    def make():
        guarded(Path, "open", lambda mode="r", *args, **kwargs: bool({*mode} & {*"wax+"}))
        for name in ("unlink", "replace", "rename", "rmdir", "touch"):
            guarded(Path, name)
        for name in ("unlink", "replace", "rename", "rmdir", "utime"):
            guarded(os, name)
        mkdir = Path.mkdir

        def making(path, *args, **kwargs):
            if not path.exists():
                refuse(path)
            mkdir(path, *args, **kwargs)

        monkeypatch.setattr(Path, "mkdir", making)

    return make


@pytest.mark.parametrize(
    "command",
    [
        ("eval", *MINE, "task=pocket_math", *FEW, "samples=2", "task.sampling.temperature=1.0"),
        ("eval", *MINE, "task=pocket_math:2,pocket_code", *FEW),
        ("generate", *MINE, "prompt=ask.yaml", "input=rows.jsonl"),
        ("study", "agent=random", "seed=0", *MINE, *FEW, "episode.iterations=1",
         "agent.records_per_iteration=4", "executor=in_process", "--no-bounds"),
        ("run", *MINE, *FEW, "episode.iterations=1", "agent.records_per_iteration=4"),
        ("adapt", *SEQUENCES, "student=hf", "student.path=student", "arms.names=[context_only]"),
        ("adapt", "--continual", *SEQUENCES, "student=hf", "student.path=student"),
    ],
    ids=lambda command: " ".join(command[:2]),
)  # fmt: skip
def test_finished_work_is_shown_on_a_read_only_disk(
    dataenvgym, folder, request, make_read_only, command
):
    (folder / "ask.yaml").write_text("user: '{what}'\n")
    (folder / "rows.jsonl").write_text('{"what": "1 + 1 ="}\n')
    if command[0] == "adapt":
        request.getfixturevalue("student")
    dataenvgym.succeeds(*command)
    shown = dataenvgym.succeeds(*command).out
    before = contents_and_times(folder)
    make_read_only()
    result = dataenvgym(*command)
    assert (result.err, result.out) == ("", shown)
    assert contents_and_times(folder) == before


def test_a_disk_that_is_read_only_is_named_where_something_would_change(
    dataenvgym, folder, make_read_only
):
    command = ("eval", *MINE, "task=pocket_math", *FEW, "name=e")
    dataenvgym.succeeds(*command)
    (folder / "evaluations/e/results.json").write_text("{}")
    make_read_only()
    result = dataenvgym(*command)
    assert result.code != 0
    assert "Read-only file system" in result.err
