"""Stores that two processes write at once."""

import subprocess
import sys

import pytest

from dataenvgym.records.store import open_store

WRITE = """
import sys
from pydantic import BaseModel
from dataenvgym.records.store import Kind, open_store

class Person(BaseModel):
    name: str
    age: int = 0
    likes: tuple[str, ...] = ()

where, name = sys.argv[1:]
store, people = open_store(where), Kind("people", Person)
for i in range(30):
    store.put(people, "one", Person(name=name, age=i, likes=(name,) * 50))
    store.add_event("all", {"name": name, "i": i})
"""


@pytest.fixture(params=["files", "redis"])
def shared(request, tmp_path):
    return str(tmp_path if request.param == "files" else request.getfixturevalue("redis_url"))


def test_of_two_processes_that_write_a_document_the_last_whole_one_wins(shared, people):
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, shared, n]) for n in ("Ann", "Bob")]
    store, seen = open_store(shared), []
    while any(w.poll() is None for w in writers):
        if (one := store.get(people, "one")) is not None:
            seen.append(one)
    assert [w.returncode for w in writers] == [0, 0]
    last = store.get(people, "one")
    assert all(set(p.likes) == {p.name} for p in [*seen, last])
    assert last.age == 29
    assert store.find(people, name=last.name, likes=last.name) == ["one"]
    events = [e.event for e in store.events("all")]
    for name in ("Ann", "Bob"):
        assert [e["i"] for e in events if e["name"] == name] == list(range(30))
