from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dataenvgym.environments.near_duplicates import Fingerprint, Fingerprints
from dataenvgym.environments.record_index import INDEX_FILE, RecordIndex
from dataenvgym.errors import RunDirectoryError

PRINTS = Fingerprints(0.9)


def one(text: str) -> Fingerprint:
    return PRINTS.of(text)


def long_text(number: int) -> str:
    return " ".join(f"{word}{number}" for word in "abcdefghijklmnopqrstuvwxyz")


@pytest.fixture(params=["file", "memory"])
def index(request, tmp_path) -> RecordIndex:
    return RecordIndex(tmp_path / INDEX_FILE if request.param == "file" else None, 0.9)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / INDEX_FILE


def test_it_knows_what_was_added_and_nothing_else(index):
    assert index.known([one("a").digest]) == set()
    assert index.count() == 0
    index.add(1, map(one, "ab"))
    index.add(2, map(one, "c"))
    assert index.known([one(t).digest for t in "bcd"]) == {one("b").digest, one("c").digest}
    assert index.count() == 3


def test_it_can_be_asked_about_thousands_of_texts_at_once(index):
    index.add(1, (one(str(i)) for i in range(3000)))
    digests = [one(str(i)).digest for i in range(2500, 4500)]
    assert len(index.known(digests)) == 500


def test_candidates_are_the_texts_that_share_a_band(index):
    index.add(1, [one(long_text(i)) for i in range(50)])
    asked = [one(long_text(7)), one(long_text(70)), one(long_text(8) + " end")]
    found = index.candidates(asked)
    assert found[asked[0].digest] == [long_text(7)]
    assert asked[1].digest not in found
    assert found.get(asked[2].digest, [long_text(8)]) == [long_text(8)]


def test_adding_an_iteration_again_replaces_it_and_later_ones(index):
    for iteration, text in enumerate("abc"):
        index.add(iteration, [one(text), one(long_text(iteration))])
    index.add(1, [one("x")])
    digests = [one(t).digest for t in "abcx"]
    assert index.known(digests) == {one("a").digest, one("x").digest}
    assert index.count() == 3
    assert index.candidates([one(long_text(2))]) == {}


def test_what_an_interrupted_iteration_left_is_dropped(path):
    index = RecordIndex(path, 0.9)
    index.add(1, map(one, "ab"))
    index.add(2, map(one, "cd"))
    index.add(3, [one(long_text(1))])
    again = RecordIndex(path, 0.9)
    assert again.agrees_with({0: 0, 1: 2, 2: 2})
    assert again.count() == 4
    assert again.candidates([one(long_text(1))]) == {}


@pytest.mark.parametrize("counts", [{1: 1}, {1: 2, 2: 1}, {1: 2, 2: 2, 3: 1}, {2: 2}])
def test_an_index_that_holds_other_counts_disagrees(path, counts):
    index = RecordIndex(path, 0.9)
    index.add(1, map(one, "ab"))
    index.add(2, map(one, "cd"))
    assert not index.agrees_with(counts)


def test_an_index_made_for_another_similarity_disagrees(path):
    RecordIndex(path, 0.9).add(1, map(one, "ab"))
    assert RecordIndex(path, 0.9).agrees_with({1: 2})
    assert not RecordIndex(path, 0.8).agrees_with({1: 2})


def test_a_missing_file_agrees_with_no_records_only(path):
    assert RecordIndex(path, 0.9).agrees_with({0: 0})
    assert not RecordIndex(path, 0.9).agrees_with({0: 0, 1: 2})
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(100)])
def test_a_broken_file_disagrees(path, content):
    path.write_bytes(content)
    assert not RecordIndex(path, 0.9).agrees_with({1: 2})


def test_a_file_with_a_page_overwritten_disagrees(path):
    index = RecordIndex(path, 0.9)
    index.add(1, (one(long_text(i)) for i in range(300)))
    content = bytearray(path.read_bytes())
    content[8 * 4096 : 9 * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    assert not index.agrees_with({1: 300})


def test_a_failed_addition_leaves_everything_as_it_was(index):
    index.add(1, map(one, "ab"))

    def failing():
        yield one("c")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(2, failing())
    assert index.agrees_with({1: 2})
    assert index.known([one("c").digest]) == set()


def test_a_broken_file_says_what_to_do(path):
    path.write_bytes(b"no database at all")
    with pytest.raises(RunDirectoryError, match="remove it"):
        RecordIndex(path, 0.9).known([b"x"])


def test_cleared_it_is_as_new(index):
    index.add(1, map(one, "ab"))
    index.clear()
    assert index.count() == 0
    index.add(1, map(one, "a"))
    assert index.count() == 1


def test_it_grows_by_appending(path):
    index = RecordIndex(path, 0.9)
    index.add(1, (one(long_text(i)) for i in range(2000)))
    with sqlite3.connect(path) as connection:
        before = connection.execute("SELECT * FROM records ORDER BY id").fetchall()
    index.add(2, [one("x")])
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM records ORDER BY id").fetchall()[:-1] == before
