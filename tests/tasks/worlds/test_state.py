"""The state of a world: tables that forks share, ids, the digest."""

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import ConfigDict, ValidationError

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.worlds.state import Row, State, Table, digest_of


class Point(Row):
    x: float = 0


class Item(Row):
    name: str
    price: float | Decimal = 1
    tags: tuple[str, ...] = ()
    at: Point = Point()


class Store(State):
    items: Table[Item] = Table()
    notes: list[str] = []
    count: int = 0


@pytest.fixture
def store():
    return Store(items={"a": {"name": "tea"}, "b": {"name": "cake"}})


def names(store):
    return {key: item.name for key, item in store.items.items()}


def test_a_fork_keeps_its_changes_to_itself_and_does_not_see_later_ones(store):
    fork = store.fork()
    store.count = 1
    del store.items["b"]
    store.items["b"] = Item(name="cake")
    fork.items["a"] = fork.items["a"].changed(name="milk")
    fork.items["c"] = Item(name="jam")
    del fork.items["b"]
    fork.notes.append("changed")
    fork.count = 7
    assert names(store) == {"a": "tea", "b": "cake"}
    assert (store.notes, store.count) == ([], 1)
    assert names(fork) == {"a": "milk", "c": "jam"}
    assert (fork.notes, fork.count) == (["changed"], 7)


def test_deleting_and_restoring_a_row_leaves_an_equal_state(store):
    fork = store.fork()
    row = fork.items["a"]
    del fork.items["a"]
    assert ("a" in fork.items, len(fork.items), fork == store) == (False, 1, False)
    with pytest.raises(KeyError):
        del fork.items["a"]
    fork.items["a"] = row
    assert fork == store
    assert fork.digest() == store.digest()
    assert list(fork.items) == ["a", "b"]
    fork.items["z"] = Item(name="short-lived")
    del fork.items["z"]
    assert (fork == store, len(fork.items), "z" in fork.items) == (True, 2, False)


def test_states_do_not_share_a_default():
    one, other = Store(), Store()
    one.items["a"] = Item(name="tea")
    one.notes.append("mine")
    assert (len(other.items), other.notes) == (0, [])


def test_a_table_built_row_by_row_is_cheap_to_fork_once_it_is_settled():
    store = Store()
    for number in range(1000):
        store.items[f"item_{number}"] = Item(name="x")
    settled = store.settled()
    assert settled == store
    assert not settled.fork().items._changes
    settled.items["item_1"] = Item(name="y")
    assert store.items["item_1"].name == "x"


def test_a_row_that_can_change_in_place_is_refused():
    for kind in (list[str], dict[str, int], set[int], Any, Annotated[list, 1]):
        with pytest.raises(ConfigurationError, match="use tuple"):
            type("Bad", (Row,), {"__annotations__": {"values": kind}})
    with pytest.raises(ConfigurationError, match="not frozen"):
        type("Bad", (Row,), {"model_config": ConfigDict(frozen=False)})
    kinds = [tuple[Point, ...], frozenset[str], Literal["a", "b"], date | None, Annotated[int, 1]]
    for kind in kinds:
        type("Good", (Row,), {"__annotations__": {"value": kind}})


def test_changed_rows_and_assigned_values_are_checked(store):
    for changes in ({"price": "free"}, {"pirce": 1}):
        with pytest.raises(ValidationError):
            Item(name="tea").changed(**changes)
    with pytest.raises(ValidationError):
        store.count = "many"
    with pytest.raises(TypeError, match="got dict"):
        store.items["c"] = {"name": "jam"}


def test_new_ids_count_and_skip_those_that_are_taken(store):
    assert store.items.new_id("item") == "item_3"
    store.items["item_3"] = Item(name="x")
    store.items["item_5"] = Item(name="x")
    assert store.items.new_id("item") == "item_6"
    assert store.items.new_id("item") == store.fork().items.new_id("item")


@pytest.mark.parametrize(
    ("one", "other"), [(5, 5.0), (0.0, -0.0), (Decimal("5"), Decimal("5.00")), (5, Decimal("5.0"))]
)
def test_equal_numbers_have_one_digest(one, other):
    states = [Store(items={"a": Item.model_construct(name="a", price=p)}) for p in (one, other)]
    assert states[0].digest() == states[1].digest()


def test_the_digest_does_not_depend_on_the_order_of_rows_or_of_a_set():
    rows = {"a": Item(name="1"), "b": Item(name="2")}
    turned = dict(reversed(rows.items()))
    assert Store(items=rows).digest() == Store(items=turned).digest()
    code = (
        "from dataenvgym.tasks.worlds.state import digest_of;"
        "print(digest_of({'s': frozenset('abcdefgh'), 1: None}))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert other.strip() == digest_of({"s": frozenset("hgfedcba"), 1: None})


def test_one_moment_in_two_time_zones_has_one_digest():
    noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    moved = noon.astimezone(timezone(timedelta(hours=3)))
    assert State(now=noon) == State(now=moved)
    assert State(now=noon).digest() == State(now=moved).digest()


def test_a_patch_sets_fields_and_rows_and_deletes_rows(store):
    new = store.patched({"count": 3, "items": {"a": None, "c": {"name": "jam"}}})
    assert (new.count, names(new)) == (3, {"b": "cake", "c": "jam"})
    assert len({store.digest(), new.digest(), store.patched({"count": 1}).digest()}) == 3
    assert names(store) == {"a": "tea", "b": "cake"}


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        ({"cuont": 1}, KeyError),
        ({"items": {"zz": None}}, KeyError),
        ({"count": "x"}, ValidationError),
        ({"items": {"c": {"nmae": "jam"}}}, ValidationError),
    ],
)
def test_a_patch_of_a_missing_row_or_another_type_is_refused(store, patch, error):
    with pytest.raises(error):
        store.patched(patch)
