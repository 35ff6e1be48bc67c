"""The facts in the folder of a script: a table of them, and the differences of two folders.

Facts are compared, not files: the table says where a fact is and how to read it, and a fact may
have several places, because newer versions move files. A fact's values are named by a path, such as
`runs/math/001/0/output`: what is above the place, what its stars stand for, then keys and indices.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


def parsed(path: Path) -> Any:
    """The content of a JSON, JSONL or YAML file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def figures(path: Path) -> Any:
    """The parsed content without times, versions, commands, and checksums of other files."""
    return _without_bookkeeping(parsed(path))


def _without_bookkeeping(value: Any) -> Any:
    if isinstance(value, dict):
        kept = (name for name in value if not BOOKKEEPING.fullmatch(name))
        return {name: _without_bookkeeping(value[name]) for name in kept}
    return [_without_bookkeeping(v) for v in value] if isinstance(value, list) else value


def written(path: Path) -> Any:
    """Records without the id and the iteration that they get later."""
    return [_without_stamp(record) for record in parsed(path)]


def _without_stamp(record: Any) -> Any:
    kept = {k: v for k, v in record["provenance"].items() if k not in ("id", "iteration")}
    return {**record, "provenance": kept}


def judged(path: Path) -> list[Any] | None:
    """Records with the verdict on each; None for those that an older version accepted."""
    is_older = path.with_name("dropped.jsonl").exists()
    rows = parsed(path)
    return None if is_older or any("verdict" not in row for row in rows) else rows


def submitted(path: Path) -> Any:
    """Of records with verdicts, all as the agent wrote them."""
    if (rows := judged(path)) is None:
        return None
    return [_without_stamp(row.get("submitted", row["record"])) for row in rows]


def taught(path: Path) -> Any:
    """The accepted records."""
    rows = judged(path)
    accepted = [row["record"] for row in rows or () if row["verdict"] == "accepted"]
    return parsed(path) if rows is None else accepted


def dropped(path: Path) -> Any:
    """Of records with verdicts, the others, with their reasons."""
    if (rows := judged(path)) is None:
        return None
    out = (row for row in rows if row["verdict"] != "accepted")
    return [{"reason": row["verdict"], "record": row["record"]} for row in out]


def checksum(path: Path) -> str:
    """The SHA-256 of the bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


BOOKKEEPING = re.compile(r"(.*_)?(seconds|time|versions?)|format|command|files|fingerprint")

# fact -> place -> reader. A star is a part of a name; the first place that matches a file counts.
# A new place has stars for the same parts in the same order, or its reader returns them as keys.
# A reader returns None if a file does not say the fact.
FACTS: dict[str, dict[str, Callable[[Path], Any]]] = {
    "records submitted": {
        "iterations/*/submitted.jsonl": written,
        "iterations/*/records.jsonl": submitted,
    },
    "records taught": {"iterations/*/records.jsonl": taught, "round-*/records.jsonl": parsed},
    "records dropped": {
        "iterations/*/dropped.jsonl": parsed,
        "iterations/*/records.jsonl": dropped,
    },
    "plan": {"iterations/*/action.json": parsed},
    "forest planned": {"iterations/*/plan.json": parsed},
    "forest": {"iterations/*/forest.json": parsed},
    "answers to new records": {"iterations/*/untaught.jsonl": parsed},
    "answers to taught records": {"iterations/*/trained.jsonl": parsed},
    "dataset": {"iterations/*/dataset/*": parsed, "dataset/*": parsed},
    "training options": {"iterations/*/training.yaml": parsed, "training.yaml": parsed},
    "losses": {"iterations/*/trainer_log.jsonl": parsed, "trainer_log.jsonl": parsed},
    "adapter": {
        "iterations/*/adapter/adapter_model.safetensors": checksum,
        "adapter/adapter_model.safetensors": checksum,
    },
    "adapter options": {
        "iterations/*/adapter/adapter_config.json": parsed,
        "adapter/adapter_config.json": parsed,
    },
    "merged student": {"round-*/student/model.safetensors": checksum},
    "validation replies": {"iterations/*/completed.jsonl": parsed},
    "test replies": {"test/*.jsonl": parsed},
    "iteration": {"iterations/*/iteration.json": figures},
    "summary": {"summary.json": figures},
    "agent's state": {"agent/0*.json": parsed},
    "samples": {"samples/*.jsonl": parsed, "rescored-*/scores.jsonl": parsed},
    "problems": {"instances.jsonl": parsed},
    "costs": {"costs.json": figures},
    "results": {"rescored-*/results.json": figures, "results.json": figures},
    "generated rows": {"rows-*.jsonl": parsed},
    "effects of records": {"attribution/attribution.json": figures},
    "edits": {"edits.jsonl": parsed},
    "inner loop": {"adapted.json": parsed},
}


@dataclass(frozen=True)
class Difference:
    """A value that differs; None is absent."""

    fact: str
    path: str
    file: str
    old: str | None
    new: str | None


def differences(old: Path, new: Path) -> list[Difference]:
    """Compare the facts of two folders, in which the same script ran."""
    before, after = values(old), values(new)
    return [
        Difference(*key, (after.get(key) or before[key])[0], was, now)
        for key in sorted(before.keys() | after.keys())
        if (was := before.get(key, ("", None))[1]) != (now := after.get(key, ("", None))[1])
    ]


def values(folder: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """(fact, path) -> (file, value as JSON), for all facts in a folder.

    Raises:
        ValueError: two files say the same fact, so one would hide the other.
    """
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        file = path.relative_to(folder).as_posix()
        for fact, places in FACTS.items():
            matches = ((_place(place).fullmatch(file), read) for place, read in places.items())
            match, read = next(((m, r) for m, r in matches if m), (None, None))
            if match and read:
                where = "/".join(_without_hashes(part) for part in match.groups() if part)
                content = read(path)
                for name, value in _leaves(content, where) if content is not None else ():
                    if (fact, name) in found:
                        raise ValueError(f"{fact}, {name}: {found[fact, name][0]} and {file}")
                    found[fact, name] = file, value
    return found


def _place(place: str) -> re.Pattern[str]:
    return re.compile("(?:(.*)/)?" + re.escape(place).replace(r"\*", "([^/]*)"))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, (dict, list)) and value:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in parts:
            yield from _leaves(part, f"{path}/{_without_hashes(str(name))}")
    else:
        yield path, _without_paths(_without_hashes(json.dumps(value, ensure_ascii=False)))


def _without_hashes(text: str) -> str:
    """Run folders end with a hash of their configuration, in which classes have their module."""
    return re.sub(r"-[0-9a-f]{8}(?![0-9a-f])", "", text)


def _without_paths(text: str) -> str:
    """Of an absolute path, the last name."""
    return re.sub(r"(?<![\w.:/])/(?:[\w.+-]+/)+", ".../", text)
