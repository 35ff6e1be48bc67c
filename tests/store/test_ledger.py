"""What a run stored is neither lost nor replaced unseen."""

import threading

import pytest

from dataenvgym.errors import StoreError
from dataenvgym.store import MemoryStore, RedisSettings, RedisStore
from dataenvgym.store.ledger import RUNS, Ledger, StoredRun

PLACE = "redis://somewhere/0"


def ledger(store, folder, **options):
    """A new process of the run in a folder; documents of this kind are as good as others."""
    found = Ledger(store, RUNS, PLACE, **options)
    found.directory = folder
    folder.mkdir(parents=True, exist_ok=True)
    return found


def stores(store, folder, ids):
    """The run stores these documents, and checks them."""
    books = ledger(store, folder)
    for id in ids:
        books.begin()
        store.put(RUNS, id, StoredRun(key="", place=""))
        books.add(id)
    books.check()


def test_a_run_of_the_same_name_in_another_folder_is_refused_and_replaces_nothing(tmp_path):
    store = MemoryStore()
    stores(store, tmp_path / "mine" / "r", ["a"])
    with pytest.raises(StoreError, match=r"another run named 'r' .*/mine/r.*another name"):
        stores(store, tmp_path / "yours" / "r", ["a"])
    stores(store, tmp_path / "yours" / "s", ["b"])
    stores(store, tmp_path / "mine" / "r", ["a", "c"])  # resumed


def test_two_runs_of_one_name_that_begin_at_once_are_noticed_at_the_end(tmp_path):
    store = MemoryStore()
    one, two = (ledger(store, tmp_path / who / "r") for who in ("mine", "yours"))
    before = store.get
    both = threading.Barrier(2)

    def get(kind, id):
        found = before(kind, id)
        if threading.current_thread() is not threading.main_thread():
            both.wait(60)
        return found

    store.get = get
    threads = [threading.Thread(target=books.begin) for books in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = []
    for books in (one, two):
        try:
            books.check()
        except StoreError as error:
            refused.append(error)
    assert len(refused) == 1


def test_a_run_that_is_started_over_or_moved_keeps_its_name(tmp_path):
    store, folder = MemoryStore(), tmp_path / "runs" / "r"
    stores(store, folder, ["a"])
    for path in folder.iterdir():
        path.unlink()
    stores(store, folder, ["a"])  # --fresh
    folder.rename(moved := tmp_path / "r")
    stores(store, moved, ["a", "b"])
    with pytest.raises(StoreError, match="another run"):
        stores(store, folder, ["a"])


@pytest.mark.parametrize("lost", [1, 32, 180])
def test_lost_documents_are_counted_at_the_end_and_when_the_run_is_resumed(tmp_path, lost):
    store, folder = MemoryStore(), tmp_path / "r"
    ids = [f"e{n:03d}" for n in range(180)]
    stores(store, folder, ids)
    for id in ids[:lost]:
        store.delete(RUNS, id)
    counted = f"only {180 - lost} of 180 runs that 'r' stored there"
    with pytest.raises(StoreError, match=counted):
        ledger(store, folder).check()
    with pytest.raises(StoreError, match=counted) as raised:
        ledger(store, folder).begin()
    assert "--fresh" in str(raised.value)
    ledger(store, folder, lasting=False).check()  # a store that expires documents loses none
    (file,) = folder.iterdir()
    file.unlink()  # as the message says
    stores(store, folder, ["new"])


def test_a_line_that_a_kill_cut_short_is_not_a_document(tmp_path):
    store, folder = MemoryStore(), tmp_path / "r"
    stores(store, folder, ["a", "b"])
    (file,) = folder.iterdir()
    whole = file.read_text()
    for end in range(whole.index("\n") + 1, len(whole)):  # the key's line is written with the file
        file.write_text(whole[:end])
        ledger(store, folder).check()
        stores(store, folder, ["a", "b", "c"])


def test_a_redis_server_that_lost_its_data_is_noticed(tmp_path, redis_url):
    from redis import Redis

    store = RedisStore(RedisSettings(redis_url))
    stores(store, tmp_path / "r", ["a", "b"])
    Redis.from_url(redis_url).flushall()
    with pytest.raises(StoreError, match="only 0 of 2 runs"):
        ledger(store, tmp_path / "r").begin()
