"""Options against the annotations of the class that they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack

import pytest
from annotated_types import Ge

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import Free, Share
from dataenvgym.runs.config import build_task, compose
from dataenvgym.runs.config.instantiation import check_arguments, named

if TYPE_CHECKING:
    from nowhere import Unknown


class Options(TypedDict, total=False):
    limit: int | None
    names: Sequence[str]


class Base:
    def __init__(self, label: str = "", **options: Unpack[Options]) -> None:
        pass


class Made(Base):
    def __init__(
        self,
        count: int,
        share: float = 0.5,
        *,
        path: str | Path | None = None,
        weights: Mapping[str, float] | None = None,
        mode: Literal["fast", "slow"] = "fast",
        is_on: bool = False,
        depth: Annotated[int, Ge(1)] | None = None,
        own: Share = 0.5,
        sizes: tuple[int, ...] = (),
        pair: tuple[int, str] | None = None,
        unknown: Unknown | None = None,
        untyped=None,
        sampling: SamplingParameters = SamplingParameters(),
        late: int = None,  # type: ignore[assignment]  # noqa: RUF013
        **options: Unpack[Options],
    ) -> None:
        pass


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": 3, "share": 1, "path": "a", "weights": {"a": 1, "b": 0.5}, "mode": "slow"},
        {"path": Path("a"), "weights": None, "sizes": [1, 2], "pair": [1, "a"], "is_on": True},
        {"unknown": "a", "untyped": [1], "limit": None, "names": ["a"], "late": None},
        {"count": object(), "label": "for the base class"},
    ],
)
def test_values_that_fit_the_annotations_pass(arguments):
    check_arguments(Made, arguments, "thing")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": "3"}, "thing.count is '3', expected a whole number"),
        ({"count": 3.5}, "thing.count is 3.5, expected a whole number"),
        ({"count": True}, "thing.count is True, expected a whole number"),
        ({"count": None}, "thing.count is null, expected a whole number"),
        ({"share": "much"}, "thing.share is 'much', expected a number"),
        ({"path": 3}, "thing.path is 3, expected text or null"),
        ({"weights": {"a": "b"}}, "thing.weights is {'a': 'b'}, expected options by name or null"),
        ({"weights": ["a"]}, "thing.weights is ['a'], expected options by name or null"),
        ({"mode": 3}, "thing.mode is 3, expected 'fast' or 'slow'"),
        ({"mode": "other"}, "thing.mode is 'other', expected 'fast' or 'slow'"),
        ({"depth": 0}, "thing.depth is 0, expected 1 or more"),
        ({"own": 1.5}, "thing.own is 1.5, expected 1.0 or less"),
        ({"own": float("nan")}, "thing.own is nan, expected"),
        ({"is_on": "yes"}, "thing.is_on is 'yes', expected true or false"),
        ({"sizes": [1, "2"]}, "thing.sizes is [1, '2'], expected a list"),
        ({"limit": "3"}, "thing.limit is '3', expected a whole number or null"),
        ({"names": "a"}, "thing.names is 'a', expected a list"),
        ({"late": "3"}, "thing.late is '3', expected a whole number or null"),
        ({"sampling": None}, "thing.sampling is null, expected SamplingParameters"),
        ({"cuont": 3}, "no option 'thing.cuont': Made takes no 'cuont'. Did you mean 'count'? It "),
    ],
)
def test_other_values_and_other_names_are_refused_by_their_key(arguments, message):
    with pytest.raises(ConfigurationError) as caught:
        check_arguments(Made, arguments, "thing")
    assert message in str(caught.value)


def test_a_target_that_takes_anything_or_has_no_signature_is_left_alone():
    def anything(**options: Any) -> None:
        pass

    check_arguments(anything, {"a": 1}, "thing")
    check_arguments(dict, {"a": 1}, "thing")
    assert build_task(compose(["+task.name=mine"])).name == "mine"  # passed on to its base


def test_a_value_that_was_forced_upon_an_option_is_refused_before_anything_is_made():
    with pytest.raises(ConfigurationError, match=r"task\.threads is 'many'"):
        build_task(compose(["++task.sampling=3", "++task.threads=many"]))


def test_each_kind_of_value_is_named_once():
    assert named(Free[int | None] | None) == "a whole number or null"
