import pytest

from dataenvgym.episodes.phase_progress import Pace, episode_seconds_left
from dataenvgym.episodes.summary import IterationSummary
from dataenvgym.progress import ProgressMessage


def count(done: int, total: int, skipped: int = 0) -> ProgressMessage:
    message = ProgressMessage(f"{done} of {total}")
    message.done, message.total, message.skipped = done, total, skipped
    return message


@pytest.fixture
def clock():
    class Clock:
        now = 100.0

        def __call__(self) -> float:
            return self.now

    return Clock()


def test_the_time_left_follows_from_counts_and_their_times(clock):
    pace = Pace(clock)
    pace.hear(count(10, 40))  # ten were there before
    clock.now += 4
    pace.hear(count(20, 40))
    assert pace.seconds_left() == pytest.approx(8)
    clock.now += 3  # nothing new meanwhile
    assert pace.seconds_left() == pytest.approx(5)
    clock.now += 30
    assert pace.seconds_left() == 0


def test_items_done_before_do_not_count_in_the_pace(clock):
    pace = Pace(clock)
    pace.hear(count(0, 100))
    pace.hear(count(60, 100, skipped=60))
    clock.now += 10
    assert pace.seconds_left() is None
    pace.hear(count(65, 100, skipped=60))
    assert pace.seconds_left() == pytest.approx(70)
    pace.hear(count(85, 100, skipped=80))  # more of it, in between
    assert pace.seconds_left() == pytest.approx(30)


def test_nothing_is_said_before_there_is_a_pace(clock):
    pace = Pace(clock)
    assert pace.seconds_left() is None
    pace.hear(count(0, 4))
    pace.hear(ProgressMessage("the server starts"))
    clock.now += 10
    assert pace.seconds_left() is None
    pace.hear(count(2, 4))
    assert pace.seconds_left() == pytest.approx(10)


def test_a_count_of_other_items_starts_over(clock):
    pace = Pace(clock)
    for step in range(5):
        pace.hear(count(step, 5))
        clock.now += 10
    pace.hear(count(0, 9))
    assert pace.seconds_left() is None
    clock.now += 6
    pace.hear(count(3, 9))
    assert pace.seconds_left() == pytest.approx(12)
    pace.hear(count(1, 9))  # less than before: it is another one
    assert pace.seconds_left() is None


def iteration(number: int, seconds: float) -> IterationSummary:
    return IterationSummary.model_construct(iteration=number, seconds={"total": seconds})


def test_an_episode_lasts_as_long_as_its_iterations_did_but_for_the_first_evaluation():
    assert episode_seconds_left([iteration(0, 5.0)], 4, 1.0) is None
    done = [iteration(0, 5.0), iteration(1, 10.0), iteration(2, 20.0)]
    assert episode_seconds_left(done, 4, 6.0) == pytest.approx(2 * 15 - 6)
    assert episode_seconds_left(done, 4, 600.0) == 0
