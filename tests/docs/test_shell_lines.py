"""Each command of each page, as typed: bash and zsh make the words of it that one sees."""

import re
import shlex
import shutil

import pytest

from tests.docs.pages import PAGES
from tests.docs.shells import split_by

_TYPED = re.compile(
    r"^ {4,}((?:dataenvgym|cd|python) (?:.*\\\n)*.*)$|`(?:\.venv/bin/)?(dataenvgym [^`\n]+)`",
    re.MULTILINE,
)
NOT_A_PAGE = ("CHANGELOG.md",)
LINES = sorted(
    {
        (line or inline): page
        for page, text in PAGES.items()
        if page not in NOT_A_PAGE
        for line, inline in _TYPED.findall(text)
    }.items()
)


def seen(line: str) -> list[str]:
    """The words between spaces outside of quotes, where only quotes and comments are special."""
    line = line.replace("\\\n", "")
    line = re.sub(r"\$('[^']*')", lambda quoted: quoted[1].replace("\\n", "\n"), line)
    return shlex.split(line, comments=True)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_reads_each_line_as_a_reader_does(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: `make test` installs Debian's where it may")
    lines = [line for line, _ in LINES]
    words = split_by(shell, lines)
    pairs = zip(LINES, words, strict=True)
    wrong = {f"{page}: {line}": got for (line, page), got in pairs if got != seen(line)}
    assert wrong == {}
    assert len(lines) > 200


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_what_a_shell_would_change_is_seen(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: `make test` installs Debian's where it may")
    lines = [
        "dataenvgym run teacher.price={prompt:0.15,completion:0.60}",
        "dataenvgym run 'teacher.price={prompt:0.15,completion:0.60}'",
        "dataenvgym run (a)",
    ]
    braces, quoted, refused = split_by(shell, lines)
    assert braces == [
        "dataenvgym",
        "run",
        "teacher.price=prompt:0.15",
        "teacher.price=completion:0.60",
    ]
    assert quoted == seen(lines[1])
    assert refused == []
