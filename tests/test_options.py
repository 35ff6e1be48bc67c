"""Options of classes, read from their signatures and docstrings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.options import Free, Given, explanations, options_of, taken_from, takes
from dataenvgym.runs.config import compose


class Brush:
    pass


@dataclass(frozen=True, kw_only=True)
class OnlyAttributes:
    """Attributes:
    dark: leave out light colors.
    names, speed: continued
        on a second line.
    """

    dark: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WithSummary:
    """The colors.

    Attributes:
        dark: leave out light colors.
        names, speed: continued
            on a second line.
    """

    dark: bool = False
    names: tuple[str, ...] = ()


@pytest.mark.parametrize("group", [OnlyAttributes, WithSummary])
def test_a_group_is_explained_with_and_without_a_summary(group):
    abouts = {name: option.about for name, option in options_of(group).items()}
    assert abouts == {"dark": "leave out light colors.", "names": "continued on a second line."}


@dataclass(frozen=True, kw_only=True)
class PaintOptions(WithSummary):
    """Attributes:
    coats: number of layers.
    brush: see `Brush`.
    """

    coats: Free[int] = 2
    brush: Brush | None = None
    room: Given[str] = "hall"
    sizes: Mapping[str, int] = field(default_factory=lambda: {"s": 1})
    dark: bool = True


class Wall:
    def __init__(self, color: str, *, width: float = 1.5, maker: Callable[[], None] | None = None):
        pass


class Painter(Wall):
    @takes(PaintOptions)
    def __init__(self, options: PaintOptions) -> None:
        self.options = options


class Fence(Wall):
    def __init__(self, *, color: str = "red", posts: int = 3, **options: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        # those of the group come before those of its bases; `room` is given by the program, and a
        # Brush is not a plain value
        (Painter, {"coats": 2, "sizes": {"s": 1}, "dark": True, "names": []}),
        (Wall, {"color": "???", "width": 1.5}),
        (Fence, {"color": "red", "posts": 3, "width": 1.5}),
        (len, {}),
    ],
)
def test_the_options_of_a_class_are_its_plain_parameters_and_those_that_it_passes_on(
    target, expected
):
    found = {name: option.default for name, option in options_of(target).items()}
    assert list(found.items()) == list(expected.items())


def test_an_option_says_whether_it_changes_results():
    assert [name for name, option in options_of(Painter).items() if option.is_free] == ["coats"]


def test_an_explanation_is_that_of_the_nearest_class_that_does_not_point_elsewhere():
    abouts = explanations(Painter)
    assert (abouts["coats"], abouts["dark"]) == ("number of layers.", "leave out light colors.")


def test_a_constructor_takes_the_options_of_its_group_and_refuses_others():
    assert Painter(coats=5).options == PaintOptions(coats=5)
    with pytest.raises(TypeError, match="coat"):
        Painter(coat=5)  # type: ignore[call-arg]


def test_a_group_takes_its_own_of_several_options():
    options = {"coats": 1, "width": 2.0}
    assert taken_from(options, PaintOptions) == PaintOptions(coats=1)
    assert options == {"width": 2.0}


def test_a_class_of_the_users_that_takes_a_group_is_filled_with_its_options():
    config = compose([f"agent={__name__}.Painter", "agent.coats=3"])
    assert (config.agent.coats, config.agent.dark) == (3, True)
    with pytest.raises(ConfigurationError, match="dark"):
        compose([f"agent={__name__}.Painter", "agent.dark=null"])
