"""All generated pages."""

from __future__ import annotations

from docs.generate.api import api_pages
from docs.generate.commands import commands_page
from docs.generate.files import ROOT, file_pages, path_of
from docs.generate.links import turned
from docs.generate.options import option_pages

LESS = "---\nsearch:\n  boost: 0.2\n---\n\n"
"""Before the text of a page that search puts behind others."""


def generated_pages() -> dict[str, str]:
    """By path under docs/, the Markdown of each page that no file in docs/ holds."""
    texts = {path_of(file): file.name for file in ROOT.glob("*.md")}
    notebooks = ROOT.glob("examples/**/*.ipynb")
    linked = texts | {path_of(file): file.relative_to(ROOT).as_posix() for file in notebooks}
    files = file_pages()
    for page in linked.keys() & files.keys():
        files[page] = turned(files[page], page, linked[page])
    for page in texts.keys() & files.keys():
        files[page] = f"{LESS}{files[page]}"
    return {**files, **api_pages(), **option_pages(), "reference/commands.md": commands_page()}
