"""The format version of folders, under the key `"format"`.

Runs and evaluations keep it in `environment.json`, studies in `study.json`.

    1    no number is written
    2    the number, `scores` of completed instances and reports, and `tools` and `name` of messages

A program reads its own format and older ones, and refuses newer ones. A change that older programs
cannot read adds a line above and increments `FORMAT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataenvgym.errors import BrokenFileError, NewerFormatError
from dataenvgym.storage import read_json, write_json

FORMAT = 2
"""The format that this program writes."""
FORMAT_KEY = "format"
_FILES = ("environment.json", "study.json")


def check_format(directory: Path) -> None:
    """Refuse the folder of a run, an evaluation or a study that a newer program wrote.

    A folder without a format, or with a damaged file, passes.

    Raises:
        NewerFormatError: if its format is newer than this program's.
    """
    for name in _FILES:
        with suppress(FileNotFoundError, NotADirectoryError, BrokenFileError):
            refuse_newer(directory / name, read_json(directory / name))


def refuse_newer(path: Path, content: Any) -> None:
    """Refuse a file that a newer program wrote.

    Args:
        path: the file with the format.
        content: of the file.

    Raises:
        NewerFormatError: if its format is newer than this program's.
    """
    found = content.get(FORMAT_KEY, 1) if isinstance(content, Mapping) else 1
    if not isinstance(found, int) or found > FORMAT:
        versions = content.get("versions")
        writer = versions.get("dataenvgym") if isinstance(versions, Mapping) else None
        known = f" (it was begun with {writer})" if writer else ""
        raise NewerFormatError(
            f"{path} has format {found!r}, and this dataenvgym reads formats 1 to {FORMAT}: a "
            f"newer dataenvgym wrote it. Update dataenvgym{known}, choose another folder, "
            "or start over"
        )


def raise_format(directory: Path) -> None:
    """Raise the format of a run or an evaluation that an older program began."""
    path = directory / "environment.json"
    if path.exists() and (content := read_json(path)).get(FORMAT_KEY) != FORMAT:
        write_json(path, {**content, FORMAT_KEY: FORMAT})
