"""ARC, in the folder that DATAENVGYM_DATA names, and a folder of small tasks."""

import os
from pathlib import Path

import pytest

from dataenvgym.domains.few_shot.task import FewShotTask
from tests.domains.few_shot.puzzles import folder_of


@pytest.fixture(scope="session")
def arc():
    """The folder of ARC-AGI-1, with `training` and `evaluation`; skips where it is absent."""
    folder = Path(os.environ.get("DATAENVGYM_DATA", "/nonexistent")) / "arc-agi"
    if not folder.is_dir():
        pytest.skip("needs arc-agi in the folder that DATAENVGYM_DATA names")
    return folder


@pytest.fixture(scope="session")
def arc_problems(arc):
    """One problem for each test of all its 800 tasks."""
    return FewShotTask(arc).whole().instances


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A folder of twelve small tasks."""
    return folder_of(tmp_path_factory.mktemp("few_shot") / "small")
