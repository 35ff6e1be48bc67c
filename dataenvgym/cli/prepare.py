"""`dataenvgym prepare`: fetches public data sets into the folder DATAENVGYM_DATA."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from dataenvgym import exact_json
from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError, check_one_of, first_fault
from dataenvgym.runs.config.groups import config_folders, content_of
from dataenvgym.runs.texts import several
from dataenvgym.storage import write_bytes
from dataenvgym.tasks.rows import HubDataset, read_rows


def prepare(
    names: list[str],
    *,
    config_dir: str | None = None,
) -> None:
    """Fetch public data sets into the folder DATAENVGYM_DATA.

    Example:
      dataenvgym prepare gsm8k math humaneval

    Files that are there are kept. What cannot be fetched is named, with what to put
    where. It needs the package `datasets`.

    Args:
        names: gsm8k, math, humaneval, ...; without one, a list of all
        config_dir: a folder with a data.yaml of your own, which adds to ours

    Raises:
        ConfigurationError: if some files must be put there by hand; the others are written.
    """
    console = Terminal()
    known = _known(config_dir)
    if (variable := os.environ.get("DATAENVGYM_DATA")) is None:
        raise ConfigurationError(
            "DATAENVGYM_DATA is not set: it names the folder of the data, such as "
            "export DATAENVGYM_DATA=$HOME/data"
        )
    data = Path(variable).expanduser()
    for name in names:  # your own are in data.yaml in --config-dir
        check_one_of(known, name=name)
    if not names:
        for name, files in known.items():
            there = all((data / file).exists() for file in files)
            console.say(f"{name:14}{'there' if there else 'missing'}")
        return
    missing = []
    for file, source in ((f, s) for name in names for f, s in known[name].items()):
        path = data / file
        if path.exists():
            console.say(f"{path}: there already")
        elif isinstance(source, str):
            missing.append(f"  {path}: {source}")
        else:
            sources = source if isinstance(source, list) else [source]
            try:
                n_rows = _write(path, sources)
            except ConfigurationError as error:
                datasets = " and ".join(dict.fromkeys(one.dataset for one in sources))
                missing.append(
                    f"  {path}: the rows of {datasets} ({sources[0].split}), one JSON object a "
                    f"line ({error})"
                )
                continue
            console.say(f"{path}: {several(n_rows, 'row')}")
    if missing:
        lines = "\n".join(missing)
        raise ConfigurationError(f"put these there by hand, or try again:\n{lines}")


def _write(path: Path, source: list[HubDataset]) -> int:
    """Write all rows of the data sets to one file; their number."""
    lines = [exact_json.dumps(row.values) + b"\n" for one in source for row in read_rows(one)]
    content = b"".join(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return len(lines)


Known = dict[str, dict[str, str | HubDataset | list[HubDataset]]]
"""The sources of files by data set; a text says what to do by hand."""


def _known(config_dir: str | None) -> Known:
    """The sources of each file, by data set, of all files `data.yaml`."""
    known: Known = {}
    for file in (folder / "data.yaml" for folder in config_folders(config_dir)):
        if not file.exists():
            continue
        try:
            known |= TypeAdapter(Known).validate_python(content_of(file))
        except ValidationError as error:
            raise ConfigurationError(
                f"{file}: {first_fault(error)}, expected files by the name of the data set, such "
                "as mine: {mine/train.jsonl: {dataset: me/mine, split: train}}"
            ) from error
    return known
