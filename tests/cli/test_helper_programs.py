"""bubblewrap and redis-server, as `dataenvgym doctor` finds them: really started, and ended."""

import os
import re
import shutil

import psutil
import pytest

from dataenvgym.cli import doctor as helper_programs
from dataenvgym.cli.doctor import redis_finding, sandbox_finding


@pytest.fixture
def only(tmp_path, monkeypatch):
    """Leaves one program on the PATH, a script that does this."""

    def put(name: str, script: str | None = None) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        if script is not None:
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return put


def servers() -> set[int]:
    mine = psutil.Process(os.getpid()).children(recursive=True)
    return {p.pid for p in mine if "redis" in p.name()}


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_redis_is_started_asked_and_ended():
    before = servers()
    finding = redis_finding()
    assert finding.state == "ok"
    assert re.fullmatch(r"\d+\.\d+\.\d+, started and answered", finding.text)
    assert servers() == before


def test_a_redis_that_ends_at_once_is_reported_with_its_output(only):
    only("redis-server", "echo no memory; exit 1")
    finding = redis_finding()
    assert (finding.state, finding.text) == ("missing", "starts, but does not answer: no memory")
    assert "apt-get install redis-server" in str(finding.way_out)


def test_a_redis_that_never_answers_is_ended(only, monkeypatch):
    monkeypatch.setattr(helper_programs, "_PATIENCE", 0.3)
    only("redis-server", f"exec {shutil.which('sleep')} 60")
    finding = redis_finding()
    assert finding.text == "starts, but does not answer: it wrote nothing"
    assert not [p for p in psutil.Process().children() if p.name() == "sleep"]


def test_programs_that_are_not_there_are_missing_with_a_way_out(only):
    only("redis-server")
    assert (redis_finding().state, redis_finding().text) == ("missing", "not installed")
    finding = sandbox_finding()
    assert finding.state == "missing"
    assert "needs the program bwrap" in finding.text
    assert "apt-get install bubblewrap" in str(finding.way_out)


def test_a_bubblewrap_that_cannot_make_a_sandbox_is_reported_with_its_message(only):
    only("bwrap", "echo no namespaces >&2; exit 1")
    finding = sandbox_finding()
    assert finding.state == "missing"
    assert "cannot make a sandbox on this machine" in finding.text


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_bubblewrap_runs_a_program_or_says_why_not():
    finding = sandbox_finding()
    if finding.state == "ok":
        assert re.fullmatch(r"[\d.]+, ran a program", finding.text)
    else:
        assert "user namespaces" in finding.text
