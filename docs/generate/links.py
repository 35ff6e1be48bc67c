"""Links that leave docs/, turned to the pages that are made of those files."""

from __future__ import annotations

import os
import posixpath
import re

from docs.generate.files import ROOT, path_of

_LINK = re.compile(r"(?P<open>\]\()(?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")


def turned(markdown: str, page: str, source: str | None = None) -> str:
    """The text with links to files outside docs/ leading to their pages.

    Args:
        page: the page's path under docs/.
        source: where the text is from, relative to the repository; None: docs/`page`.
    """
    folder = posixpath.dirname(source if source is not None else f"docs/{page}")

    def turn(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match["target"]))
        if target.startswith("docs/"):
            path = target.removeprefix("docs/")
        elif (ROOT / target).exists() and not target.startswith(".."):
            path = path_of(ROOT / target)
        else:
            return match[0]
        path = os.path.relpath(path, posixpath.dirname(page) or ".")
        return f"{match['open']}{path}{match['anchor'] or ''})"

    return _LINK.sub(turn, markdown)
