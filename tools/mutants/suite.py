"""Runs of the fast suite on a tree with a fault, or with probes that say which tests come by where.

A run is a fork of this process, which has the heavy libraries; the fork imports the package anew
from its own checkout. So a run costs little more than its tests, and a fault also reaches what
happens at import and the programs that tests start.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
_HEAVY = (
    *("hydra", "jinja2", "matplotlib.pyplot", "peft", "pydantic", "scipy.stats", "sympy", "torch"),
    *("gymnasium", "aiohttp", "math_verify", "transformers.models.llama.modeling_llama"),
)
_PROBE = """
import os

_hit = set()


def hit(name):
    line = f"{name} {os.environ['PYTEST_CURRENT_TEST']}\\n"
    if line not in _hit:
        with open(os.environ["MUTANTS_HITS"], "a") as file:
            file.write(line)
        _hit.add(line)
"""
# CPU seconds and bytes that a process may use; seconds until a run with a fault is over.
_CPU, _MEMORY, _WAIT = 300, 8 << 30, 400


class Job(NamedTuple):
    """A run of tests, which may be whole files, with other texts for files of the tree."""

    name: str
    tests: Collection[str]
    texts: Mapping[str, str] = {}
    stops: bool = False  # at the first test that fails


class Outcome(NamedTuple):
    """What came of a run."""

    seconds: Mapping[str, float] = {}
    """CPU seconds of each test that passed."""
    failed: Sequence[str] = ()
    hits: Mapping[str, Collection[str]] = {}
    """By the name of a probe: the tests that came by, or all of the file whose fixtures did."""


class Slot:
    """A checkout of a commit, where runs happen one after the other."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.tree, self._run, self._places = folder / "tree", folder / "run", folder / "places"
        self._places.mkdir(parents=True)
        self._git(ROOT, "worktree", "add", "--quiet", "--detach", str(self.tree), commit)
        setup = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(self._places)]
        subprocess.run(setup, cwd=self.tree, check=True, stderr=subprocess.DEVNULL)
        (self._places / "mutants_probe.py").write_text(_PROBE)
        self._stamps = count(2_000_000_000)

    def close(self) -> None:
        """Remove the checkout."""
        self._git(ROOT, "worktree", "remove", "--force", str(self.tree))

    def start(self, job: Job) -> int:
        """Begin a run; return its process id."""
        shutil.rmtree(self._run, ignore_errors=True)
        self._run.mkdir()
        for file, text in job.texts.items():
            (self.tree / file).write_text(text)
        self._stamp(job)
        if pid := os.fork():
            return pid
        try:
            self._test(job)
        finally:
            os._exit(1)

    def end(self, job: Job) -> Outcome:
        """The outcome of the run, after its process has ended."""
        self._git(self.tree, "checkout", "--quiet", ".")
        self._stamp(job)
        if (report := self._run / "report.json").exists():
            return Outcome(*json.loads(report.read_text()))
        return Outcome(failed=["the run did not come to its end"])

    def _git(self, tree: Path, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(tree), *arguments], check=True)

    def _stamp(self, job: Job) -> None:
        """Bytecode of another text with the same size and second would be taken for this one's."""
        for file in job.texts:
            os.utime(self.tree / file, (stamp := next(self._stamps), stamp))

    def _test(self, job: Job) -> None:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for of, most in ((resource.RLIMIT_CPU, _CPU), (resource.RLIMIT_DATA, _MEMORY)):
            resource.setrlimit(of, (most, resource.getrlimit(of)[1]))  # sandboxes need the hard one
        os.dup2(os.open(self._run / "log.txt", os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        os.chdir(self.tree)
        ours = [str(self.tree), str(self._places)]
        sys.path[:] = [*ours, *(place for place in sys.path if place not in ("", str(ROOT)))]
        os.environ |= {"PYTHONPATH": ":".join(ours), "MUTANTS_HITS": str(self._run / "hits")}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False  # to compile the package takes longer than most tests
        for name in [name for name in sys.modules if name.partition(".")[0] in ("tools", "tests")]:
            del sys.modules[name]
        sys.modules["__main__"] = ModuleType("__main__")  # multiprocessing would start ours
        options = ["-qx" if job.stops else "-q", f"--basetemp={self._run / 'temp'}"]
        options += ["-p", "no:cacheprovider", *dict.fromkeys(map(file_of, job.tests))]
        if job.stops:
            faulthandler.dump_traceback_later(_WAIT, exit=True)
        watch = _Watch({*job.tests}, self._run / "hits")
        pytest.main(options, plugins=[watch])
        (self._run / "report.json").write_text(json.dumps(watch.outcome()))


Slots = Sequence[Slot]


class _Watch:
    """A plugin of pytest: chooses the tests, and notes what came of them and who came by."""

    def __init__(self, tests: set[str], hits: Path) -> None:
        self._tests, self._hits = tests, hits
        self._seconds: dict[str, float] = {}
        self._passed: set[str] = set()
        self._failed: list[str] = []

    def outcome(self) -> Outcome:
        hits = defaultdict[str, set[str]](set)
        for line in self._hits.read_text().splitlines() if self._hits.exists() else ():
            name, _, at = line.partition(" ")
            test, _, phase = at.rpartition(" ")
            by = test if phase == "(call)" else file_of(test)  # others may use what was set up
            hits[name].update(one for one in self._seconds if by in (one, file_of(one)))
        seconds = {test: self._seconds[test] for test in self._passed - {*self._failed}}
        return Outcome(seconds, self._failed, {name: sorted(by) for name, by in hits.items()})

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        os.environ["PYTEST_CURRENT_TEST"] = f"{collector.nodeid} (import)"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if {item.nodeid, file_of(item.nodeid)} & self._tests]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        before = sum(os.times()[:4])
        result = yield
        self._seconds[item.nodeid] = sum(os.times()[:4]) - before
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._failed += [report.nodeid] if report.failed else []


def file_of(test: str) -> str:
    """The file in a test's name."""
    return test.partition("::")[0]


def prepare() -> None:
    """Import what nearly all runs would."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in _HEAVY:
        importlib.import_module(name)


def run_all(jobs: Iterable[Job], slots: Slots, done: Callable[[Job, Outcome], None]) -> None:
    """Run jobs, one for each slot at a time."""
    todo, free, running = iter(jobs), [*slots], dict[int, tuple[Slot, Job]]()
    try:
        while True:
            while free and (job := next(todo, None)):
                slot = free.pop()
                running[slot.start(job)] = slot, job
            if not running:
                return
            pid, _ = os.wait()
            _end(pid)  # programs that a test left behind
            slot, job = running.pop(pid)
            free.append(slot)
            done(job, slot.end(job))
    finally:
        for pid in running:
            _end(pid)


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
