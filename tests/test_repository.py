"""The files that a contributor and a forge read: they name what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import dataenvgym

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([\w-]+)(?: [\w-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE))


def read(name: str) -> str:
    return (ROOT / name).read_text()


def test_the_workflow_calls_existing_targets():
    jobs = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]
    steps = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    called = {target for text in steps for target in re.findall(r"^make ([\w-]+)$", text, re.M)}
    called |= set(jobs["check"]["strategy"]["matrix"]["target"])
    assert {"lint", "test", "docs", "test-slow"} <= called <= TARGETS


def test_the_folders_and_modules_that_the_guide_for_agents_names_exist():
    table = read("AGENTS.md").partition("## Where things are")[2].partition("## Invariants")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines()]
    names = re.findall(r"`([\w./]+)`", "\n".join(cells))
    assert len(names) > 15
    there = [(ROOT / name).exists() or (ROOT / "dataenvgym" / name).exists() for name in names]
    assert all(there), [n for n, is_there in zip(names, there, strict=True) if not is_there]


def test_hooks_call_tools_of_the_environment_and_fetch_nothing():
    groups = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert {group["repo"] for group in groups} == {"local"}
    entries = [hook["entry"].split()[0] for group in groups for hook in group["hooks"]]
    linted = re.findall(r"^\t\$\(BIN\)/([\w-]+)", read("Makefile").partition("\nlint:")[2], re.M)
    assert {Path(e).name for e in entries} <= set(linted)
    assert all((ROOT / entry).parent == ROOT / ".venv/bin" for entry in entries)


@pytest.mark.slow
def test_pre_commit_accepts_the_hooks():
    command = [sys.executable, "-m", "pre_commit", "validate-config", ".pre-commit-config.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == dataenvgym.__version__
    released = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"), re.M)
    if "date-released" in citation:
        assert released[0] == (dataenvgym.__version__, str(citation["date-released"]))
    else:
        assert released == []  # a first version that is not released yet
