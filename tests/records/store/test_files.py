"""The store in a folder: after a kill, and after damage."""

import os

import pytest

from dataenvgym.errors import BrokenFileError
from dataenvgym.records.store import FileStore


def test_an_event_that_a_kill_cut_short_is_dropped(tmp_path):
    store = FileStore(tmp_path)
    store.add_event("scene", {"i": 0})
    path = tmp_path / "events/scene.jsonl"
    with path.open("ab") as file:
        file.write(b'{"i": "' + b"x" * 10_000)
    assert [e.event for e in store.events("scene")] == [{"i": 0}]
    store.add_event("scene", {"i": 1})
    assert [e.event for e in store.events("scene")] == [{"i": 0}, {"i": 1}]
    path.write_bytes(b"cut short from the start")
    store.add_event("scene", {"i": 2})
    assert [e.event for e in store.events("scene")] == [{"i": 2}]


def test_a_half_written_document_is_not_seen_and_a_damaged_one_is_named(tmp_path, people, person):
    store = FileStore(tmp_path)
    store.put(people, "ann", person(name="Ann"))
    folder = tmp_path / "documents/people"
    (folder / f".bob.json.{os.getpid()}-1.tmp").write_bytes(b'{"name": "Bo')
    (folder / ".bob.json").write_bytes(b"{")
    assert [p.name for p in folder.iterdir() if not p.name.startswith(".")] == ["ann.json"]
    assert store.ids(people) == ["ann"]
    path = folder / "ann.json"
    path.write_bytes(b"{")
    with pytest.raises(BrokenFileError, match=str(path)):
        store.get(people, "ann")
    with pytest.raises(BrokenFileError, match=str(path)):
        store.find(people, name="Ann")
    store.add_event("scene", {})
    (events := tmp_path / "events/scene.jsonl").write_bytes(b"{\n")
    with pytest.raises(BrokenFileError, match=rf"{events} is damaged: a line is not JSON"):
        store.events("scene")
