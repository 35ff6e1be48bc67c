"""Where the scorer's tests find outside data."""

import os
from pathlib import Path

import pytest


def _folder(variable, content):
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} does not name a folder with {content}")
    return Path(folder)


@pytest.fixture
def cases():
    return _folder("DATAENVGYM_CASES", "reference cases")


@pytest.fixture
def data():
    return _folder("DATAENVGYM_DATA", "data sets")
