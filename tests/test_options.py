"""Options of classes, read from their signatures and docstrings."""

from dataclasses import dataclass

import pytest

from dataenvgym.options import options_of


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
