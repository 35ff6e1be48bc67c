"""The small world of lamps that the tests of worlds and of tool use share."""

import pytest

from tests.tasks.worlds.conftest import lamps

__all__ = ["lamps"]


@pytest.fixture
def one_process(monkeypatch):
    """An audit does not repeat its calls in two other processes, whose start takes a second."""
    monkeypatch.setattr("dataenvgym.domains.tool_use.audit.compare_processes", lambda tools: None)
