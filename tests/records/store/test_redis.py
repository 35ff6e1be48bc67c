"""The store in Redis: a real server that forgets, is full, dies, hangs and comes back."""

import signal

import pytest

from dataenvgym.errors import ConfigurationError, StoreError
from dataenvgym.records.store import RedisSettings, RedisStore, open_store
from dataenvgym.runs.config.instantiation import check_arguments
from tests.waiting import wait_for


def keys(url: str) -> list[bytes]:
    from redis import Redis

    return sorted(Redis.from_url(url).keys())


def test_the_place_says_which_store():
    assert isinstance(open_store("unix:///tmp/redis.sock", expires_s=1), RedisStore)
    with pytest.raises(ConfigurationError, match="folder, or a server"):
        open_store("http://host")
    with pytest.raises(ConfigurationError, match="only Redis forgets"):
        open_store("some/folder", expires_s=1)
    with pytest.raises(ConfigurationError, match="expires_s"):
        check_arguments(open_store, {"expires_s": 0}, "store")
    with pytest.raises(ConfigurationError, match="Redis"):
        RedisSettings("http://host")


def test_many_documents_come_in_the_order_of_their_ids(redis_url, people, person):
    store = open_store(redis_url)
    for i in range(600):
        store.put(people, str(i), person(name="x", age=i))
    wanted = [str(i) for i in reversed(range(600))]
    assert [p.age for p in store.get_many(people, wanted)] == list(reversed(range(600)))


def test_documents_that_expire_leave_nothing_behind(redis_url, people, person):
    store = open_store(redis_url, expires_s=0.05)
    store.put(people, "ann", person(name="Ann", likes=("tea",)))
    store.add_event("scene", {"turn": 0})
    wait_for(lambda: store.get(people, "ann") is None)
    assert store.find(people, name="Ann") == store.find(people, likes="tea") == []
    wait_for(lambda: store.events("scene") == [])
    assert keys(redis_url) == []


def test_a_document_that_is_written_again_stays(redis_url, people, person):
    open_store(redis_url, expires_s=0.05).put(people, "ann", person(name="Ann"))
    open_store(redis_url, expires_s=0.05).put(people, "bob", person(name="Bob"))
    lasting = open_store(redis_url)
    lasting.put(people, "ann", person(name="Ann", age=2))
    wait_for(lambda: lasting.get(people, "bob") is None)
    assert lasting.ids(people) == lasting.find(people, age=2) == ["ann"]
    lasting.delete(people, "ann")
    assert keys(redis_url) == []


def test_a_server_that_is_not_there_is_named_with_the_way_out(people):
    store = open_store("redis://user:hunter22@127.0.0.1:1/0")
    with pytest.raises(StoreError, match="store at") as raised:
        store.ids(people)
    assert "Start that Redis server" in str(raised.value)
    assert "hunter22" not in str(raised.value) + repr(store.settings)
    with pytest.raises(ConfigurationError, match="host"):
        open_store("redis://host:port/0").ids(people)


def test_a_full_server_keeps_the_old_document_whole(redis_url, people, person):
    from redis import Redis

    store, server = open_store(redis_url), Redis.from_url(redis_url)
    store.put(people, "ann", person(name="Ann", age=1))
    server.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreError, match="Raise its maxmemory"):
            store.put(people, "ann", person(name="Ann", age=2))
        with pytest.raises(StoreError, match="Raise its maxmemory"):
            store.put(people, "bob", person(name="Bob"))
    finally:
        server.config_set("maxmemory", 0)
    assert store.ids(people) == store.find(people, age=1) == ["ann"]
    assert store.find(people, age=2) == []
    assert store.get(people, "bob") is None


def test_a_hanging_server_is_an_error_and_the_episode_can_be_resumed(own_redis, people, person):
    url, process = own_redis
    store = RedisStore(RedisSettings(f"{url}?socket_timeout=0.2"))
    store.add_event("scene", {"turn": 0})
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(StoreError, match=f"store at {url} failed"):
        store.put(people, "ann", person(name="Ann"))
    process.send_signal(signal.SIGCONT)
    store.put(people, "ann", person(name="Ann", age=2))
    assert store.find(people, name="Ann", age=2) == ["ann"]
    assert [e.event["turn"] for e in store.events("scene")] == [0]


def test_a_connection_that_the_server_closed_is_opened_again(redis_url, people, person):
    from redis import Redis

    store = open_store(redis_url)
    store.put(people, "ann", person(name="Ann"))
    Redis.from_url(redis_url).client_kill_filter(_type="normal", skipme=True)
    assert store.ids(people) == ["ann"]


def test_other_programs_can_follow_the_stream(redis_url):
    from redis import Redis

    open_store(redis_url).add_event("scene", {"turn": 0})
    ((_, entries),) = Redis.from_url(redis_url).xread({"dataenvgym:store.events:scene": "0"})
    assert [fields for _, fields in entries] == [{b"event": b'{"turn":0}'}]
