import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataenvgym.tasks.scoring.code.syntax import parsed

CODE = "\n".join(
    f"def f{i}(x):\n    return [{'(' * 20}x{')' * 20} for _ in range({i}) if x + 1 * (2 - x)]"
    for i in range(40)
)


@pytest.fixture
def interrupted():
    """Garbage is collected all the time, and other threads run meanwhile."""

    def give_way(*args):
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(give_way)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(give_way)


def test_many_threads_parse_at_once(interrupted):
    """Without a lock, CPython fails in about one of fifty such calls (gh-106905)."""
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(parsed, [CODE] * 120))
    assert all(tree is not None and len(tree.body) == 40 for tree in trees)
