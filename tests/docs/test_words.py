"""There is little to read."""

import pytest

from tools.words import Count, counts, prose


@pytest.mark.parametrize("count", counts(), ids=lambda count: count.name)
def test_there_is_no_more_to_read_than_that(count: Count):
    assert 0 < count.number <= count.most


def test_prose_is_what_is_beside_code_tables_and_pictures():
    page = "One two\n\n    code\n\n| a |\n\n![alt text](x.png)\n\n```text\nx y\n```\n\nthree\n"
    assert prose(page).split() == ["One", "two", "three"]
