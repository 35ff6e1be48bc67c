"""The nav: patterns, and every page in it."""

from docs.generate.nav import expanded


def test_a_pattern_takes_the_pages_that_no_entry_names():
    nav = [{"A": ["a.md", "a_*.md"]}, {"B": "b*.md"}, {"None": ["c*.md"]}, "a_2.md"]
    assert expanded(nav, ["a.md", "a_3.md", "a_1.md", "a_2.md", "b.md"]) == [
        {"A": ["a.md", "a_1.md", "a_3.md"]},
        {"B": "b.md"},
        "a_2.md",
    ]
    assert expanded(["a*.md", "*.md"], ["ab.md", "b.md"]) == ["ab.md", "b.md"]
