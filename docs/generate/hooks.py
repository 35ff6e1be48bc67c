"""Hooks that MkDocs calls when it builds the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)] if str(ROOT) not in sys.path else []

from docs.generate.links import turned  # noqa: E402
from docs.generate.nav import expanded  # noqa: E402
from docs.generate.pages import generated_pages  # noqa: E402

_generated: dict[str, str] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the pages, and write them and those of docs/ into the nav."""
    _generated.clear()
    _generated.update(generated_pages())
    written = {path.name for path in Path(config.docs_dir).glob("*.md")}
    config.nav = expanded(config.nav, {*written, *_generated})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in _generated.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Turn links that leave docs/."""
    path = page.file.src_uri
    return markdown if path in _generated else turned(markdown, path)
