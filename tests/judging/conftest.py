from __future__ import annotations

from collections.abc import Iterator

import pytest

from .judge_server import JudgeServer, judge_server


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    """A server that gives 7, until a test changes it."""
    with judge_server() as made:
        yield made
