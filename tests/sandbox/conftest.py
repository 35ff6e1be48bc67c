"""Sandboxes for the tests: real ones, opened once, skipped where bwrap is not to be had."""

import shutil

import pytest

from dataenvgym.sandbox import open_sandbox
from tests.sandbox.watching import processes_with
from tests.waiting import eventually


@pytest.fixture(scope="session")
def bwrap():
    """The path of bwrap."""
    if (found := shutil.which("bwrap")) is None:
        pytest.skip("needs bubblewrap (Debian: bubblewrap)")
    return found


@pytest.fixture(scope="session")
def box(bwrap):
    """A sandbox of the default backend with one worker, so that runs meet what others left."""
    with open_sandbox() as opened:
        yield opened


@pytest.fixture(scope="session", params=["bubblewrap", "unsafe_local"])
def any_box(request):
    """A sandbox of each backend."""
    if request.param == "bubblewrap":
        yield request.getfixturevalue("box")
        return
    with open_sandbox("unsafe_local", workers=4) as opened:
        yield opened


@pytest.fixture
def gone():
    """Whether soon no process of the host has a word in its command line."""
    return lambda word: eventually(lambda: not processes_with(word))
