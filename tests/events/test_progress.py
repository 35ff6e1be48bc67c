import logging
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataenvgym.events import ContextThreadPool, counting, hearing_progress, tell


def test_events_reach_listeners_in_any_thread_and_the_log_until_the_block_ends(caplog):
    first, second = [], []
    with caplog.at_level(logging.INFO), hearing_progress(first.append):
        tell("50 % done")
        thread = threading.Thread(target=tell, args=("from a thread",))
        thread.start()
        thread.join()
        with hearing_progress(second.append):
            tell("inner")
        with counting("problems", 2):  # not for a log
            pass
    tell("too late")
    assert first == ["50 % done", "from a thread", "inner", "0 of 2 problems"]
    assert second == ["inner"]
    assert [record.getMessage() for record in caplog.records] == first[:3]


def test_listeners_of_different_contexts_hear_only_their_own_and_a_stray_thread_is_heard_by_all():
    first = []
    second = []

    def run_second():
        with hearing_progress(second.append):
            with ContextThreadPool(1) as pool:
                pool.submit(tell, "of the second").result()
            with ThreadPoolExecutor(1) as stray:
                stray.submit(tell, "of somebody").result()

    with hearing_progress(first.append):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(run_second).result()
        tell("of the first")
    assert first == ["of somebody", "of the first"]
    assert second == ["of the second", "of somebody"]


@pytest.fixture
def heard():
    messages = []
    with hearing_progress(messages.append):
        yield messages


def test_a_count_has_a_total_and_a_unit(heard):
    with counting("training steps", 3) as count:
        count.add()
        count.add(2, note="loss 0.500")
    assert heard == [
        "0 of 3 training steps",
        "1 of 3 training steps",
        "3 of 3 training steps, loss 0.500",
    ]
    assert [(message.done, message.total) for message in heard] == [(0, 3), (1, 3), (3, 3)]


def test_a_part_counts_into_the_whole_that_counts_the_same(heard):
    with counting("problems", 4) as whole:
        for _ in range(2):
            with counting("calls", 5), counting("problems", 2) as part:
                assert part is whole
                part.add()
    assert heard[-1] == "2 of 4 problems"
    assert not any("of 2" in message for message in heard)


def test_other_events_within_a_count_are_shown_with_it_and_its_numbers_once_it_has_begun(heard):
    with counting("problems", 4) as whole:
        with counting("calls", 2) as calls:
            calls.add()
        assert (heard[-1].done, heard[-1].total) == (1, 2)
        whole.add()
        with counting("replies", 3) as count:
            count.add(2)
        with counting("replies", 1) as count:  # not worth a word
            count.add()
    assert heard == [
        "0 of 4 problems",
        "0 of 4 problems, 0 of 2 calls",
        "0 of 4 problems, 1 of 2 calls",
        "1 of 4 problems",
        "1 of 4 problems, 0 of 3 replies",
        "1 of 4 problems, 2 of 3 replies",
    ]
    assert (heard[-1].done, heard[-1].total) == (1, 4)


def test_items_counted_by_others_are_not_counted_twice(heard):
    with counting("replies", 4) as count:
        with counting("replies", 2) as part:
            part.add(2)
        count.reach(2)
        count.reach(4)
        count.reach(3)
    assert heard == ["0 of 4 replies", "2 of 4 replies", "4 of 4 replies"]


def test_earlier_items_are_counted_and_marked(heard):
    with counting("problems", 4) as count:
        count.skip(0)
        count.skip(2)
        count.add()
    assert heard == ["0 of 4 problems", "2 of 4 problems", "3 of 4 problems"]
    assert [message.skipped for message in heard] == [0, 2, 2]


def test_after_an_error_another_count_starts_over(heard):
    with pytest.raises(ValueError, match="no"), counting("problems", 2):
        raise ValueError("no")
    with counting("problems", 3):
        pass
    assert heard == ["0 of 2 problems", "0 of 3 problems"]


def test_a_message_survives_the_way_to_another_process(heard):
    tell("1 of 2 problems", done=1, total=2)
    there = pickle.loads(pickle.dumps(heard[0]))
    assert (there, there.done, there.total) == ("1 of 2 problems", 1, 2)
