import itertools
import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction

import pytest

from dataenvgym.domains.code.harness import plain

VALUES = [
    None, True, False, 0, -1, 2**62, -(2**200), 10**5000, 1.5, -0.0, math.inf, 1 + 2j, "",
    "Größe 日本 \x00 \udc80", b"\x00\xff", bytearray(b"ab"), [], [1, [2, (3,)]], (), (1, "a"),
    {1, 2}, frozenset({1}), {"a": 1, 2: [3], (4, 5): {6}}, range(1, 9, 2), deque([1, 2]),
    Counter("aab"), OrderedDict(a=1), defaultdict(list, a=[1]), Decimal("1.10"), Fraction(2, 6),
    {"value": {"list": [1]}}, int, [ValueError, dict, map], [2**62, -(2**62), True, 0.5, None, "a"],
    {2**70: 1, True: "b"}, {"a": 2**70, "b": [1]}, [1, "a", [1]],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=[str(i) for i in range(len(VALUES))])
def test_plain_data_come_back_as_they_were(value):
    again = plain.loads(plain.dumps(value))
    assert again == value
    assert type(again) is type(value)
    assert not isinstance(value, float) or math.copysign(1, again) == math.copysign(1, value)


def test_views_and_iterators_survive_the_transfer():
    table = {"a": 1}
    assert plain.loads(plain.dumps(table.keys())) == table.keys()
    assert plain.loads(plain.dumps(table.items())) == table.items()
    assert [*plain.loads(plain.dumps(table.values()))] == [1]
    assert [*plain.loads(plain.dumps(x for x in "ab"))] == ["a", "b"]
    assert math.isnan(plain.loads(plain.dumps(math.nan)))


def test_an_iterator_of_more_items_than_are_passed_on_gives_these_and_then_an_error():
    endless = plain.loads(plain.dumps(itertools.count()))
    again = plain.loads(plain.dumps(endless))  # a test may pass it on
    assert [next(again) for _ in range(plain.MOST_STEPS)] == [*range(plain.MOST_STEPS)]
    for _ in range(2):
        with pytest.raises(plain.CutError, match="more than 10000 items"):
            next(again)
    whole = plain.loads(plain.dumps(iter(range(plain.MOST_STEPS))))
    assert len([*whole]) == plain.MOST_STEPS


@pytest.mark.parametrize(
    "data",
    [
        b'{"int": "0x%s"}' % (b"f" * (plain.LONGEST_NUMBER + 1)),
        b'{"Fraction": [{"int": "0x%s"}, {"int": "0x%s"}]}' % (b"7" * 200_000, b"3" * 200_000),
        b'{"Decimal": "%s"}' % (b"1" * 200_000),
    ],
)
def test_huge_numbers_are_refused_before_they_are_made(data, monkeypatch):
    def made(*args):
        raise AssertionError("it was made")

    for name in ("Fraction", "Decimal"):
        monkeypatch.setattr(plain, name, made)
    with pytest.raises(plain.NotPlainError, match="digits, expected at most"):
        plain.loads(data)


def test_subclasses_become_their_base_class():
    class Same(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    class Text(str):
        pass

    Pair = namedtuple("Pair", "a b")
    for value, kind in ((Same(1), int), (Text("a"), str), (Pair(1, 2), tuple)):
        again, (inner, _) = plain.loads(plain.dumps(value)), plain.loads(plain.dumps([value, 1]))
        assert type(again) is type(inner) is kind
    assert plain.loads(plain.dumps(Same(1))) != 2


class Own:
    """A class that only has the name of a builtin class."""


Own.__name__ = Own.__qualname__ = "int"


class Steps:
    def __next__(self):
        return 1


def loop():
    own = []
    own.append(own)
    return own


@pytest.mark.parametrize(
    "value",
    [object(), len, lambda: 1, [object()], {1: object()}, Fraction, Own, Steps, [1, type(None)]],
)
def test_other_types_are_refused(value):
    with pytest.raises(plain.NotPlainError, match="which is not plain data"):
        plain.dumps(value)


def test_values_that_contain_themselves_are_refused():
    with pytest.raises(plain.NotPlainError, match="nested too deeply"):
        plain.dumps(loop())


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[1]", b"{}", b'{"list": 1}', b'{"object": []}', b'{"set": [{"list": []}]}',
        b'{"dict": [[1]]}', b'{"int": "zz"}', b'{"type": "len"}', b'{"type": "Own"}',
        b'{"list": [1, [2]]}', b'{"dict": [[1, 2], [3]]}', b'{"list": [], "set": []}',
        b'{"Fraction": [1, 0]}', b'{"Decimal": "x"}', b"\xff", b'{"list":[' * 50_000,
    ],
)  # fmt: skip
def test_data_that_say_nothing_plain_are_refused(data):
    with pytest.raises(plain.NotPlainError):
        plain.loads(data)
