"""All spaces of records, and gymnasium's requirements of a space."""

import pickle
from copy import deepcopy

import orjson
import pytest
from gymnasium.error import Error

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Message, SupervisedDatum, TextDatum
from dataenvgym.spaces import (
    CompletedInstancesSpace,
    ConversationSpace,
    RecordsSpace,
    ReportSpace,
    TextSpace,
)

SPACES = [
    TextSpace(),
    TextSpace(max_length=7),
    ConversationSpace(),
    CompletedInstancesSpace(),
    ReportSpace(),
    RecordsSpace(),
    RecordsSpace(max_size=2),
]
every_space = pytest.mark.parametrize("space", SPACES, ids=repr)
DATUM = SupervisedDatum(instruction="Was ergibt 2 · 3?", output="#### 6")


def draw(space, n=50, seed=0):
    space = deepcopy(space)
    space.seed(seed)
    return [space.sample() for _ in range(n)]


@every_space
def test_samples_are_elements_and_not_all_the_same(space):
    samples = draw(space)
    assert all(sample in space for sample in samples)
    assert any(sample != samples[0] for sample in samples)


@every_space
def test_the_same_seed_draws_the_same_samples(space):
    assert draw(space, seed=3) == draw(space, seed=3)
    assert draw(space, seed=3) != draw(space, seed=4)


@every_space
def test_elements_survive_the_way_through_json(space):
    samples = draw(space)
    text = orjson.dumps(space.to_jsonable(samples))
    restored = space.from_jsonable(orjson.loads(text))
    assert restored == samples
    assert all(element in space for element in restored)


@every_space
def test_a_copied_and_a_pickled_space_equal_the_original(space):
    assert deepcopy(space) == space
    assert pickle.loads(pickle.dumps(space)) == space


def test_spaces_of_another_class_or_with_other_parameters_differ():
    for i, one in enumerate(SPACES):
        for j, other in enumerate(SPACES):
            assert (one == other) == (i == j)


def test_a_space_describes_itself():
    assert repr(RecordsSpace(max_size=2)) == "RecordsSpace(max_size=2)"
    assert repr(ReportSpace()) == "ReportSpace()"


@every_space
def test_a_mask_is_refused_as_gymnasium_does_where_there_is_nothing_to_mask(space):
    with pytest.raises(Error, match="neither mask nor probability"):
        space.sample(mask=1)
    with pytest.raises(Error, match="neither mask nor probability"):
        space.sample(probability=1)


@every_space
def test_a_space_is_not_flattenable(space):
    assert space.is_np_flattenable is False


def test_any_unicode_text_is_in_the_text_space():
    for text in ("", "a\n\0b", "Größe", "日本語", "👩‍👩‍👧", "\U0010ffff", "e\u0301"):
        assert text in TextSpace()


def test_invalid_unicode_is_not_in_the_text_space():
    for value in (None, 3, b"bytes", ["text"], "half a pair: \ud83d"):
        assert value not in TextSpace()


def test_a_text_that_is_too_long_is_not_in_the_text_space():
    assert "1234567" in TextSpace(max_length=7)
    assert "12345678" not in TextSpace(max_length=7)


def test_samples_of_text_hold_more_than_ascii():
    assert any(not sample.isascii() for sample in draw(TextSpace()))


def test_lists_and_dicts_are_not_elements():
    message = Message(role="user", content="Hallo")
    assert (message,) in ConversationSpace()
    assert [message] not in ConversationSpace()
    assert (message.model_dump(),) not in ConversationSpace()
    assert (DATUM,) in RecordsSpace()
    assert [DATUM] not in RecordsSpace()
    assert (DATUM.model_dump(),) not in RecordsSpace()


def test_a_batch_may_mix_kinds_and_be_empty():
    assert (DATUM, TextDatum(text="2 · 3 = 6")) in RecordsSpace()
    assert () in RecordsSpace()


def test_a_batch_that_is_too_large_is_not_in_the_space():
    space = RecordsSpace(max_size=1)
    assert (DATUM,) in space
    assert (DATUM, DATUM) not in space


def test_sampled_batches_have_one_to_four_records():
    assert {len(batch) for batch in draw(RecordsSpace())} == {1, 2, 3, 4}


def test_impossible_limits_are_refused():
    with pytest.raises(ConfigurationError, match="max_length is -1"):
        TextSpace(max_length=-1)
    with pytest.raises(ConfigurationError, match="max_size is 0"):
        RecordsSpace(max_size=0)
