"""Sandboxes for the tests: real ones, opened once, skipped where bwrap is not to be had."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dataenvgym.sandbox import Sandbox, open_sandbox


@pytest.fixture(scope="session")
def bwrap() -> str:
    """The path of bwrap."""
    if (found := shutil.which("bwrap")) is None:
        pytest.skip("needs bubblewrap (Debian: bubblewrap)")
    return found


@pytest.fixture(scope="session")
def box(bwrap: str) -> Iterator[Sandbox]:
    """A sandbox of the default backend with one worker, so that runs meet what others left."""
    with open_sandbox() as opened:
        yield opened


@pytest.fixture(scope="session", params=["bubblewrap", "unsafe_local"])
def any_box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of each backend."""
    if request.param == "bubblewrap":
        yield request.getfixturevalue("box")
        return
    with open_sandbox("unsafe_local", workers=4) as opened:
        yield opened


def processes_with(word: str) -> list[int]:
    """The host's processes in whose command line or environment the word stands."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            except OSError:
                continue
            if word.encode() in text:
                found.append(int(folder.name))
    return found


@pytest.fixture
def gone() -> Callable[[str], bool]:
    """Whether within two seconds no process of the host has a word in its command line."""

    def wait(word: str) -> bool:
        deadline = time.monotonic() + 2
        while left := processes_with(word):
            if time.monotonic() > deadline:
                return not left
            time.sleep(0.02)
        return True

    return wait
