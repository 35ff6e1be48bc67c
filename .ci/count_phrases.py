"""Counts phrases that must be read twice in docstrings, comments, messages and docs.

    python .ci/count_phrases.py [--show NAME] [FOLDER ...]

Each has a plain form: a noun in place of "what ...", a name in place of "whoever" and "nobody",
"is in" for "stands in", "is not a" for "is no".
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

PHRASES = {
    "noun-what": r"(?:^|[.:;,(] |\b(?:of|with|by|to|from|and|or|is|than|for|in|on|at|as|that|makes"
    r"|gives|returns|keeps|holds|says|takes|needs|reads|writes|shows|counts)\s+)what\s+(?!if\b)",
    "whoever/nobody": r"\b(?:whoever|nobody|whomever|whichever)\b",
    "stands": r"\bstands?\b(?! for\b)",
    "is no": r"\b(?:is|are|was|were) no\b(?! (?:longer|more|such)\b)",
    "is told": r"\b(?:is|are|was|were) told\b",
    "goes on": r"\b(?:goes|go|went|gone) on\b",
}
_SUFFIXES = {".py", ".md", ".yaml"}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and prose of a file: strings and comments of code, all of others."""
    content = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(content.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line.strip(" \"'#")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", default=["."], help="where to look; default: all")
    parser.add_argument("--show", choices=PHRASES, help="print the lines with this phrase")
    arguments = parser.parse_args()
    tracked = subprocess.run(
        ["git", "ls-files", *arguments.folders], capture_output=True, text=True, check=True
    ).stdout.split()
    counts = dict.fromkeys(PHRASES, 0)
    for name in tracked:
        path = Path(name)
        if path.suffix not in _SUFFIXES or not path.is_file() or path == Path(__file__):
            continue
        for number, line in texts(path):
            for phrase, pattern in PHRASES.items():
                found = len(re.findall(pattern, line, re.IGNORECASE))
                counts[phrase] += found
                if found and phrase == arguments.show:
                    print(f"{path}:{number}: {line.strip()}")
    for phrase, count in counts.items():
        print(f"{phrase:16}{count:5}")


if __name__ == "__main__":
    main()
