"""Documents of a run that the store lost are counted."""

import pytest

from dataenvgym.errors import StoreError
from dataenvgym.records.store import FileStore, RedisSettings, RedisStore
from dataenvgym.records.store.documents import Ledger
from tests.records.store.conftest import PEOPLE, Person

PLACE = "redis://somewhere/0"


def ledger(store, folder, **options):
    """A new process of the run in a folder."""
    found = Ledger(store, PEOPLE, PLACE, **options)
    found.directory = folder
    folder.mkdir(parents=True, exist_ok=True)
    return found


def stores(store, folder, ids):
    """The run stores these documents, and checks them."""
    books = ledger(store, folder)
    for id in ids:
        store.put(PEOPLE, id, Person(name=id))
        books.add(id)
    books.check()


@pytest.mark.parametrize("lost", [1, 32, 180])
def test_lost_documents_are_counted(tmp_path, lost):
    store, folder = FileStore(tmp_path / "s"), tmp_path / "r"
    ids = [f"e{n:03d}" for n in range(180)]
    stores(store, folder, ids)
    for id in ids[:lost]:
        store.delete(PEOPLE, id)
    counted = f"only {180 - lost} of 180 people that 'r' stored there"
    with pytest.raises(StoreError, match=counted) as raised:
        ledger(store, folder).check()
    assert "--fresh" in str(raised.value)
    ledger(store, folder, lasting=False).check()  # a store that expires documents loses none
    (file,) = folder.iterdir()
    file.unlink()  # as the message says
    stores(store, folder, ["new"])


def test_a_line_that_a_kill_cut_short_is_not_a_document(tmp_path):
    store, folder = FileStore(tmp_path / "s"), tmp_path / "r"
    stores(store, folder, ["a", "b"])
    (file,) = folder.iterdir()
    whole = file.read_text()
    for end in range(len(whole)):
        file.write_text(whole[:end])
        ledger(store, folder).check()
        stores(store, folder, ["a", "b", "c"])


def test_a_redis_server_that_lost_its_data_is_noticed(tmp_path, redis_url):
    from redis import Redis

    store = RedisStore(RedisSettings(redis_url))
    stores(store, tmp_path / "r", ["a", "b"])
    Redis.from_url(redis_url).flushall()
    with pytest.raises(StoreError, match="only 0 of 2 people"):
        ledger(store, tmp_path / "r").check()
