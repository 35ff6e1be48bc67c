"""Where the scorer's tests find outside data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def _folder(variable: str, content: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} does not name a folder with {content}")
    return Path(folder)


@pytest.fixture
def cases() -> Path:
    return _folder("DATAENVGYM_CASES", "reference cases")


@pytest.fixture
def data() -> Path:
    return _folder("DATAENVGYM_DATA", "data sets")
