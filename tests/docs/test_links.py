"""Links from docs/ to other files of the repository lead to the pages made of them."""

import pytest

from docs.generate.files import ROOT, file_pages, path_of
from docs.generate.links import turned


@pytest.mark.parametrize(
    ("page", "source", "link", "expected"),
    [
        ("running.md", None, "../examples/study.py", "examples/study_py.md"),
        ("running.md", None, "../CHANGELOG.md#a", "project/changelog.md#a"),
        ("running.md", None, "../README.md", "index.md"),
        ("running.md", None, "social.md#x", "social.md#x"),
        ("reference/index.md", None, "../../examples/study.py", "../examples/study_py.md"),
        ("project/changelog.md", "CHANGELOG.md", "docs/social.md#x", "../social.md#x"),
        ("running.md", None, "https://example.org/a.md", "https://example.org/a.md"),
        ("running.md", None, "../gone.md", "../gone.md"),
    ],
)
def test_a_link_leads_to_the_page(page, source, link, expected):
    assert turned(f"See [this]({link}).", page, source) == f"See [this]({expected})."


def test_each_example_is_a_page_with_its_code():
    pages = file_pages()
    for file in (ROOT / "examples").rglob("*.py"):
        assert file.read_text().rstrip() in pages[path_of(file)]
        assert f"`{file.relative_to(ROOT / 'examples').as_posix()}`" in pages["examples/index.md"]
