"""Writes all files of problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import orjson

from dataenvgym.domains.tool_use import worlds
from dataenvgym.storage import write_bytes
from tools.worlds import calendar, shop, wallet
from tools.worlds.writer import Writer

WRITERS: Mapping[str, Callable[[Writer], None]] = {
    "calendar": calendar.write,
    "wallet": wallet.write,
    "shop": shop.write,
}


def text_of(name: str) -> bytes:
    """The file of problems of a world."""
    writer = Writer()
    WRITERS[name](writer)
    return b"".join(orjson.dumps(row) + b"\n" for row in writer.rows)


def main() -> None:
    """Write the file of each world again."""
    for name in WRITERS:
        write_bytes(Path(worlds.__file__).with_name(f"{name}.jsonl"), text_of(name))


if __name__ == "__main__":
    main()
