"""Requests of an engine after rounds without records."""

from dataenvgym.agents.engines.llm.orders import asked_next


def test_all_that_is_missing_is_asked_for_while_something_comes():
    assert asked_next(range(100), 0, 5) == range(100)


def test_after_a_barren_round_a_few_are_asked_for_others_each_time():
    asked = [list(asked_next(range(100), barren, 5)) for barren in range(1, 5)]
    assert asked[0] == [1, 21, 41, 61, 81]
    assert [len(few) for few in asked] == [5] * 4
    assert len({number for few in asked for number in few}) == 20


def test_of_a_few_all_are_asked_for_every_time():
    for barren in range(5):
        assert asked_next("abc", barren, 5) == "abc"
    assert [asked_next("abcdef", barren, 5) for barren in (1, 2)] == ["bdf", "ace"]
