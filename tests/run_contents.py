"""The files of a run, to be compared with those of another one."""

import re
from pathlib import Path


def contents(directory: Path, *without: str) -> dict[str, str | bytes]:
    """All files but logs, `config.yaml` and `without`; no times, and no path of the directory."""
    found: dict[str, str | bytes] = {}
    without = ("events.jsonl", "log.txt", "config.yaml", *without)
    for path in sorted(p for p in directory.rglob("*") if p.is_file() and p.name not in without):
        data: str | bytes = path.read_bytes()
        if path.suffix in (".json", ".yaml", ".md"):
            text = path.read_text(errors="replace").replace(str(directory.resolve()), "DIRECTORY")
            data = re.sub(r'(?s)"seconds": ?(\{.*?\}|[\d.e-]+)|## Timings.*', "", text)
        found[path.relative_to(directory).as_posix()] = data
    return found
