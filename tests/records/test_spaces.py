"""All spaces of records, and gymnasium's requirements of a space."""

import pickle
from copy import deepcopy

import orjson
import pytest
from gymnasium.error import Error

from dataenvgym.records import Message, SupervisedDatum, TextDatum
from dataenvgym.records.spaces import (
    CompletedInstancesSpace,
    ConversationSpace,
    RecordsSpace,
    ReportSpace,
    TextSpace,
)

SPACES = [
    TextSpace(),
    ConversationSpace(),
    CompletedInstancesSpace(),
    ReportSpace(),
    RecordsSpace(),
]
every_space = pytest.mark.parametrize("space", SPACES, ids=repr)
DATUM = SupervisedDatum(instruction="Was ergibt 2 · 3?", output="#### 6")


def draw(space, n=50, seed=0):
    space = deepcopy(space)
    space.seed(seed)
    return [space.sample() for _ in range(n)]


@every_space
def test_samples_are_elements_that_differ_and_depend_on_the_seed(space):
    samples = draw(space, seed=3)
    assert all(sample in space for sample in samples)
    assert any(sample != samples[0] for sample in samples)
    assert draw(space, seed=3) == samples != draw(space, seed=4)


@every_space
def test_elements_survive_the_way_through_json(space):
    samples = draw(space)
    text = orjson.dumps(space.to_jsonable(samples))
    restored = space.from_jsonable(orjson.loads(text))
    assert restored == samples
    assert all(element in space for element in restored)


def test_spaces_of_another_class_differ():
    assert pickle.loads(pickle.dumps(SPACES)) == SPACES == deepcopy(SPACES)
    for i, one in enumerate(SPACES):
        for j, other in enumerate(SPACES):
            assert (one == other) == (i == j)


@every_space
def test_a_space_is_not_flattenable_and_refuses_a_mask_as_gymnasium_does(space):
    assert space.is_np_flattenable is False
    for options in ({"mask": 1}, {"probability": 1}):
        with pytest.raises(Error, match="probability"):
            space.sample(**options)


def test_unicode_text_alone_is_in_the_text_space_and_samples_hold_more_than_ascii():
    for text in ("", "a\n\0b", "Größe", "日本語", "👩‍👩‍👧", "\U0010ffff", "e\u0301"):
        assert text in TextSpace()
    for value in (None, 3, b"bytes", ["text"], "half a pair: \ud83d"):
        assert value not in TextSpace()
    assert any(not sample.isascii() for sample in draw(TextSpace()))


def test_lists_and_dicts_are_not_elements():
    message = Message(role="user", content="Hallo")
    assert (message,) in ConversationSpace()
    assert [message] not in ConversationSpace()
    assert (message.model_dump(),) not in ConversationSpace()
    assert (DATUM,) in RecordsSpace()
    assert [DATUM] not in RecordsSpace()
    assert (DATUM.model_dump(),) not in RecordsSpace()


def test_a_batch_may_mix_kinds_and_be_empty_and_sampled_ones_have_one_to_four_records():
    assert (DATUM, TextDatum(text="2 · 3 = 6")) in RecordsSpace()
    assert () in RecordsSpace()
    assert {len(batch) for batch in draw(RecordsSpace())} == {1, 2, 3, 4}
