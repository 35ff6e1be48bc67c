import os

import pytest

from dataenvgym.cli import doctor as findings
from dataenvgym.cli.doctor import Finding, examine, what_next

from ..processes import python


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Puts an `nvidia-smi` that prints this first on the PATH."""

    def write(prints: str, code: int = 0) -> None:
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{prints}\nEND\nexit {code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))

    return write


def test_each_gpu_is_listed_with_its_memory(nvidia_smi):
    nvidia_smi("0, NVIDIA H100, 81559, 1024\n1, NVIDIA GB10, [N/A], [N/A]")
    assert list(findings.gpu_findings()) == [
        Finding("gpu 0", "ok", "NVIDIA H100, 80 GiB, 1 of them in use"),
        Finding("gpu 1", "ok", "NVIDIA GB10, memory [N/A]"),
    ]


def test_without_a_gpu_everything_runs_on_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [finding.state for finding in findings.gpu_findings()] == ["ok"]


def test_a_broken_driver_is_reported(nvidia_smi):
    nvidia_smi("NVIDIA-SMI has failed", code=9)
    (finding,) = findings.gpu_findings()
    assert finding.state == "missing"
    assert "nvidia-smi failed" in finding.text


def test_a_full_disk_is_a_problem_for_runs_and_not_for_the_cache(tmp_path):
    missing = tmp_path / "a" / "b"
    assert findings.room_finding("runs", missing, 1.0, state="problem").state == "ok"
    too_much = findings.room_finding("runs", missing, 1e18, state="problem")
    assert too_much.state == "problem"
    assert "make room" in str(too_much.way_out)
    assert findings.room_finding("cache", missing, 1e18, state="missing").state == "missing"
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
    findings = {finding.name: finding for finding in examine(tmp_path / "runs")}
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
