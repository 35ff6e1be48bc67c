"""Real sandboxes for the tests, and outside data from the folder that DATAENVGYM_DATA names."""

import os
import shutil
from pathlib import Path

import pytest

from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.code.sandboxed_tests import judge
from dataenvgym.sandbox import Limits, open_sandbox
from dataenvgym.sandbox.opening import SharedSandbox


@pytest.fixture(scope="session")
def bubblewrap():
    """A bubblewrap sandbox that is shared by all tests; skips where there is none."""
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (Debian: bubblewrap)")
    shared = SharedSandbox("bubblewrap", workers=2)
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def box(bubblewrap):
    """The open sandbox."""
    return bubblewrap.box()


@pytest.fixture(scope="session")
def judged():
    """Judges a solution of a problem with these fields, in a sandbox; `f` is the entry point."""

    def verdict(code, box, *, limits=Limits(seconds=5), **fields):  # noqa: B008
        return judge(code, CodeProblem(**({"entry_point": "f"} | fields)), box, limits=limits)

    return verdict


@pytest.fixture(scope="session")
def unsafe_box():
    """A process of this user, for harmless code."""
    with open_sandbox("unsafe_local") as opened:
        yield opened


@pytest.fixture(scope="session")
def humaneval():
    """HumanEval's file; skips the test where it is absent."""
    folder = Path(os.environ.get("DATAENVGYM_DATA", "/nonexistent")) / "humaneval"
    if not (folder / "HumanEval.jsonl.gz").is_file():
        pytest.skip("needs humaneval/HumanEval.jsonl.gz in the folder that DATAENVGYM_DATA names")
    return folder / "HumanEval.jsonl.gz"
