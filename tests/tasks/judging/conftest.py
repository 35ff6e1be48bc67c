import pytest

from tests.tasks.judging.judge_server import judge_server


@pytest.fixture
def server():
    """A server that gives 7, until a test changes it."""
    with judge_server() as made:
        yield made
