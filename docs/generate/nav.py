"""The nav of mkdocs.yml: a pattern stands for the pages that it matches."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from functools import partial
from typing import Any


def expanded(nav: Any, pages: Collection[str]) -> Any:
    """The nav with each pattern replaced by the pages that match it, sorted by path.

    A page is taken by the entry that names it, else by the first pattern. A section without pages
    is left out.

    Args:
        nav: as in mkdocs.yml: lists, sections `{title: ...}` and paths.
        pages: paths of all pages.
    """
    free = set(pages) - set(_named(nav))
    return _expanded(nav, free)


def _named(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        if "*" not in nav:
            yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _named(part)


def _matches(pattern: str, page: str) -> bool:
    return fnmatch(page, pattern)


def _place(page: str) -> str:
    return page.removesuffix(".md")


def _expanded(nav: Any, free: set[str]) -> Any:
    if isinstance(nav, str):
        found = (
            [nav] if "*" not in nav else sorted(filter(partial(_matches, nav), free), key=_place)
        )
        free.difference_update(found)
        return found
    if isinstance(nav, dict):
        (title, part), *_ = nav.items()
        inside = _expanded(part, free)
        single = isinstance(part, str) and len(inside) == 1
        return [{title: inside[0] if single else inside}] if inside else []
    return [entry for part in nav for entry in _expanded(part, free)]
