"""Each Python block of each page runs, and prints what its comments say.

Blocks of pages with files of a reader run with the commands, in `test_commands_on_pages`.
"""

import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, files

REDIS = "redis://127.0.0.1:6379/0"
TESTED_BY = {
    "README.md": "tests/test_examples.py",
}
"""Pages whose only block needs a part that a test has to bring."""
BLOCKS = [
    (page, block.text)
    for page in PAGES
    if page not in (*TESTED_BY, "docs/quickstart.md") and not files(page)
    for block in blocks(page)
    if block.language == "python" and "read_sotopia(" not in block.text  # see test_sotopia.py
]


@pytest.mark.parametrize("page", TESTED_BY)
def test_a_page_that_is_left_to_another_test_has_one_block_and_is_read_there(page):
    assert sum(block.language == "python" for block in blocks(page)) == 1
    assert Path(page).name in (ROOT / TESTED_BY[page]).read_text()


@pytest.mark.parametrize(
    ("page", "block"), BLOCKS, ids=[f"{Path(page).name}-{n}" for n, (page, _) in enumerate(BLOCKS)]
)
def test_each_python_block_runs(page, block, folder, request, capsys):
    if "tool_use.mcp" in block and importlib.util.find_spec("mcp") is None:
        pytest.skip("needs the extra [mcp]")
    if "pettingzoo" in block or "social.aec" in block:
        pytest.importorskip("pettingzoo", reason="needs the extra [pettingzoo]")
    if REDIS in block:
        block = block.replace(REDIS, request.getfixturevalue("redis_url"))
    exec(compile(block, page, "exec"), {"__name__": "block"})
    printed = capsys.readouterr().out.splitlines()
    assert [text for text in said_to_print(block) if text not in printed] == []


def said_to_print(block: str) -> list[str]:
    """The comments behind `print(...)`; a name in capitals stands for a value that varies."""
    said = re.findall(r"^ *print\(.*\)  # (.+)$", block, flags=re.MULTILINE)
    return [text for text in said if not re.search(r"[A-Z]{3}", text)]
