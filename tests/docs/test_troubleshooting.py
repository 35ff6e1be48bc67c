"""The error messages that the page on running explains are those of the code."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "running.md").read_text()
MESSAGES = re.findall(r"^### (.+)$", PAGE.partition("## Errors by message")[2], flags=re.MULTILINE)


@cache
def texts() -> list[str]:
    """The texts of the code without docstrings; values in a text are NULs."""
    trees = [ast.parse(file.read_text()) for file in (ROOT / "dataenvgym").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [text for node in nodes if id(node) not in docstrings and (text := text_of(node))]


def text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "\0" for part in node.values)
    return ""


def test_each_message_is_one_of_the_code():
    missing = []
    for message in MESSAGES:
        parts = [part.strip() for part in message.split("...") if part.strip()]
        pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
        found = (text for text in texts() if all(part in text for part in parts))
        missing += [message] * (not any(map(pattern.search, found)))
    assert missing == []
    assert len(set(MESSAGES)) == len(MESSAGES) > 30
