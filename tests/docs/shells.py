"""Lines as a shell reads them: quotes, globs and braces included."""

import shlex
import subprocess
from collections.abc import Sequence

_STUBS = """
record() { printf '%s\\0' "$@"; }
dataenvgym() { record dataenvgym "$@"; }
cd() { record cd "$@"; }
python() { record python "$@"; }
"""
_END = "\x01"


def split_by(shell: str, lines: Sequence[str]) -> list[list[str]]:
    """The words that the shell makes of each line; none of a line that it refuses.

    Args:
        shell: `bash` or `zsh`; what it starts is a stub that records its arguments.
    """
    typed = "".join(f"(eval {shlex.quote(line)}); printf '{_END}'\n" for line in lines)
    options = {"bash": ["--norc"], "zsh": ["-f"]}[shell]
    said = subprocess.run(
        [shell, *options], input=_STUBS + typed, capture_output=True, text=True, check=False
    )
    *found, rest = said.stdout.split(_END)
    assert len(found) == len(lines), said.stderr + rest
    return [words.split("\0")[:-1] for words in found]
