"""Options against the annotations of the class that they are for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack

import pytest
from annotated_types import Ge

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import Share
from dataenvgym.runs.config import build_task, compose
from dataenvgym.runs.config.instantiation import check_arguments

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
    ("arguments", "key"),
    [
        ({"count": "3"}, "thing.count"),
        ({"count": True}, "thing.count"),
        ({"count": None}, "thing.count"),
        ({"share": "much"}, "thing.share"),
        ({"weights": {"a": "b"}}, "thing.weights.a"),
        ({"mode": "other"}, "thing.mode"),
        ({"depth": 0}, "thing.depth"),
        ({"own": 1.5}, "thing.own"),
        ({"own": float("nan")}, "thing.own"),
        ({"sizes": [1, "2"]}, "thing.sizes.1"),
        ({"names": "a"}, "thing.names"),
        ({"late": "3"}, "thing.late"),
        ({"sampling": None}, "thing.sampling"),
        ({"cuont": 3}, "thing.cuont"),
    ],
)
def test_other_values_and_other_names_are_refused_by_their_key(arguments, key):
    with pytest.raises(ConfigurationError, match=rf"{re.escape(key)}\b"):
        check_arguments(Made, arguments, "thing")


def test_a_target_that_takes_anything_or_has_no_signature_is_left_alone():
    def anything(**options: Any) -> None:
        pass

    check_arguments(anything, {"a": 1}, "thing")
    check_arguments(dict, {"a": 1}, "thing")
    assert build_task(compose(["+task.name=mine"])).name == "mine"  # passed on to its base
