from __future__ import annotations

import logging
import threading

from dataenvgym.progress import listening, tell


def test_what_is_told_is_heard_in_any_thread_until_the_block_ends() -> None:
    heard: list[str] = []
    with listening(heard.append):
        tell("50 % done")
        thread = threading.Thread(target=tell, args=("from a thread",))
        thread.start()
        thread.join()
    tell("too late")
    assert heard == ["50 % done", "from a thread"]


def test_listeners_do_not_disturb_each_other() -> None:
    first: list[str] = []
    second: list[str] = []
    with listening(first.append):
        with listening(second.append):
            tell("a")
        tell("b")
    assert (first, second) == (["a", "b"], ["a"])


def test_a_runs_log_has_it_too(caplog) -> None:
    with caplog.at_level(logging.INFO):
        tell("step 1")
    assert [record.getMessage() for record in caplog.records] == ["step 1"]
