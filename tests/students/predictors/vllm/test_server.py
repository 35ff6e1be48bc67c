"""Questions and changes of adapters take turns."""

from collections.abc import Callable

import pytest

from dataenvgym.students.predictors.vllm.server import AdapterLock


def test_a_change_that_is_interrupted_while_it_waits_stops_no_request(monkeypatch):
    adapter_lock = AdapterLock()
    adapter_lock.enter()
    wait_for = adapter_lock._condition.wait_for

    def interrupted(condition: Callable[[], bool]) -> bool:
        if not condition():
            raise KeyboardInterrupt
        return wait_for(condition)

    monkeypatch.setattr(adapter_lock._condition, "wait_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        adapter_lock.stop()
    adapter_lock.enter()
    assert adapter_lock._on_the_way == 2
