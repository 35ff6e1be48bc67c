"""The findings of `dataenvgym doctor`; bubblewrap is really started."""

import re
import shutil
from pathlib import Path

import pytest

from dataenvgym.cli.doctor import Finding, examine, looks, what_next
from tests.processes import python


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


def look(name, folder=Path("runs")):
    """The finding of that name."""
    (finding,) = examine({name: looks(folder)[name]})
    return finding


def test_a_redis_server_that_is_installed_is_found(only):
    only("redis-server", "exit 0")
    assert look("redis-server").state == "ok"


def test_programs_that_are_not_there_or_do_not_work_are_missing_with_a_way_out(only):
    only("redis-server")
    assert look("redis-server").state == "missing"
    finding = look("bubblewrap")
    assert finding.state == "missing"
    assert "needs the program bwrap" in finding.text
    assert "apt-get install bubblewrap" in finding.way_out
    only("bwrap", "echo no namespaces >&2; exit 1")
    assert look("bubblewrap").state == "missing"
    assert "cannot make a sandbox on this machine" in look("bubblewrap").text


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_bubblewrap_runs_a_program_or_says_why_not():
    finding = look("bubblewrap")
    if finding.state == "ok":
        assert re.fullmatch(r"[\d.]+, ran a program", finding.text)
    else:
        assert "user namespaces" in finding.text


def test_gpus_are_listed_with_their_memory_and_a_broken_driver_is_reported(only, monkeypatch):
    only("nothing")
    assert look("gpu").state == "ok"  # the CPU will do
    monkeypatch.setattr("dataenvgym.cli.doctor.has_cuda", lambda: False)
    gpus = "0, NVIDIA H100, 81559 MiB, 1024 MiB\\n1, NVIDIA GB10, [N/A], [N/A]"
    only("nvidia-smi", f"printf '{gpus}\\n'")
    first, second = look("gpu").text.splitlines()
    assert first == "0, NVIDIA H100, 81559 MiB, 1024 MiB in use"
    assert second == "1, NVIDIA GB10, [N/A], [N/A] in use"
    only("nvidia-smi", "exit 9")
    assert look("gpu").state == "missing"
    assert "nvidia-smi" in look("gpu").text
    monkeypatch.setattr("dataenvgym.cli.doctor.has_cuda", lambda: True)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    only("nvidia-smi", "exit 0")
    assert "torch sees none" in look("gpu").text


def test_a_full_disk_is_a_problem_for_runs_and_not_for_the_cache(tmp_path, monkeypatch):
    missing = tmp_path / "a" / "b"
    assert look("runs", missing).state == "ok"
    full = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: full)
    assert look("runs", missing).state == "problem"
    assert "make room" in look("runs", missing).way_out
    assert look("cache").state == "missing"
    assert not missing.exists()


def test_the_next_step_uses_installed_parts_or_installs_missing_ones():
    there = Finding("llamafactory", "ok", "")
    missing = Finding("vllm", "missing", "", "install it")
    small = Finding("smollm2", "missing", "", "install it, too")
    commands = [command for command, _ in what_next([there, missing, small])]
    assert commands == [
        "dataenvgym run",
        "dataenvgym run trainer=llama_factory",
        "install it",
        "install it, too",
    ]
    assert what_next([there, missing, small, Finding("torch", "problem", "")]) == []


def test_everything_is_looked_at(tmp_path):
    findings = {finding.name: finding for finding in examine(looks(tmp_path / "runs"))}
    assert {"python", "torch", "pocket student", "runs", "cache"} <= findings.keys()
    assert {"llamafactory", "vllm", "ray", "wandb"} <= findings.keys()
    assert {"bubblewrap", "redis-server"} <= findings.keys()
    assert findings["pocket student"].state == "ok"
    assert [f.name for f in findings.values() if f.state == "missing" and not f.way_out] == []
    # looking leaves nothing behind
    assert list(tmp_path.iterdir()) == []


def test_asking_for_the_doctor_loads_no_torch():
    code = "import sys, dataenvgym.cli.doctor; assert 'torch' not in sys.modules"
    python("-c", code, check=True)
