import copy
from collections import Counter, defaultdict, deque

import pytest

from dataenvgym.domains.code.harness import plain
from dataenvgym.domains.code.harness.in_place import Before, put_back


def carried(arguments, change):
    """Have the change made in a copy, as another process has it, and carried back."""
    there = plain.loads(plain.dumps(arguments))
    before = Before(there)
    change(there)
    put_back(arguments, plain.loads(plain.dumps(before.changes())))
    return arguments


def swap(arguments):
    arguments[0].reverse()


CHANGES = {
    "append": ([[1]], lambda a: a[0].append(2)),
    "sort": ([[3, 1, 2]], lambda a: a[0].sort()),
    "inner": ([[[3], [1]]], lambda a: a[0][1].append(9)),
    "within a tuple": ([([1], {"a": [2]})], lambda a: a[0][1]["a"].append(3)),
    "dict": ([{"a": 1, "b": 2}], lambda a: a[0].pop("a")),
    "order of a dict": ([{"a": 1, "b": 2}], lambda a: a[0].update(a=a[0].pop("a"))),
    "defaultdict": ([defaultdict(list, a=[1])], lambda a: a[0]["a"].append(2)),
    "counter": ([Counter("aab")], lambda a: a[0].update("b")),
    "set": ([{1, 2}], lambda a: a[0].discard(1)),
    "bytearray": ([bytearray(b"ab")], lambda a: a[0].extend(b"c")),
    "deque": ([deque([1, [2]])], lambda a: a[0].rotate()),
    "equal but another type": ([[1, 2]], lambda a: a[0].__setitem__(0, True)),
    "nothing": ([[1, [2]], {"a": {3}}], lambda a: None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_by_a_function_arrive_in_the_arguments(name):
    arguments, change = CHANGES[name]
    wanted = copy.deepcopy(arguments)
    change(wanted)
    assert repr(carried(arguments, change)) == repr(wanted)


def test_identical_objects_stay_identical():
    one, two = [1], [2]
    (outer,) = carried([[one, two]], swap)
    assert outer == [[2], [1]]
    assert outer[0] is two
    assert outer[1] is one


def test_only_changes_are_sent():
    there = [[1, 2], [[3]], {"a": 1}]
    before = Before(there)
    assert before.changes() == []
    there[1][0].append(4)
    assert [change[1] for change in before.changes()] == [[3, 4]]


@pytest.mark.parametrize(
    "changes", [1, [1], [[9, [], [], []]], [[0, [1], [[5, 0]], []]], [["0", [], [], []]]]
)
def test_changes_of_other_arguments_are_refused(changes):
    with pytest.raises((TypeError, ValueError, LookupError)):
        put_back([[1]], changes)
