"""Caches that several runs use at the same time, and a Redis server that is lost."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiohttp import web

from dataenvgym.interfaces import Reply
from dataenvgym.llm import redis_cache, teacher_ask
from dataenvgym.llm.cache import FolderCache, ReplyCache, open_cache
from dataenvgym.run_warnings import listening

from .conftest import ask, echo, numbers

KEY = "0123456789abcdef" * 4
N = 40


def replies(n: int = N, start: int = 0) -> list[Reply]:
    return [Reply(text=str(i)) for i in range(start, start + n)]


@pytest.fixture(params=["folder", "redis"])
def cache(request, tmp_path):
    """Where a cache is that two runs share."""
    if request.param == "folder":
        return str(tmp_path / "cache")
    return str(request.getfixturevalue("redis_url"))


# --- two runs at once ---


def test_runs_that_ask_the_same_at_once_pay_once(server, teach, cache):
    async def slow(request: web.Request, payload: Any) -> web.StreamResponse:
        await asyncio.sleep(0.01)
        return await echo(request, payload)

    server.respond = slow
    teachers = [teach(cache=cache, concurrency=4) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        assert (
            list(threads.map(lambda teacher: ask(teacher, numbers(N)), teachers)) == [replies()] * 3
        )
    assert len(server.requests) == N
    assert sum(teacher.usage.requests for teacher in teachers) == N
    assert sum(teacher.usage.cached for teacher in teachers) == 2 * N


def test_a_claim_is_one_runs_until_it_is_given_back(cache):
    one, two = open_cache(cache), open_cache(cache)
    assert one.claim(KEY) is True
    assert one.claim(KEY) is False  # another thread's
    assert two.claim(KEY) is False
    two.release(KEY)  # not its own
    assert two.claim(KEY) is False
    one.release(KEY)
    assert two.claim(KEY) is True
    two.put(KEY, Reply(text="x"))
    two.release(KEY)
    assert one.claim(KEY) == Reply(text="x")
    assert two.claim(KEY) == Reply(text="x")


def test_a_run_waits_for_replies_of_another_run_with_any_budget(server, teach, cache, monkeypatch):
    release = asyncio.Event()

    async def held(request: web.Request, payload: Any) -> web.StreamResponse:
        await release.wait()
        return await echo(request, payload)

    server.respond = held
    first, second = teach(cache=cache, max_requests=5), teach(cache=cache, max_requests=0)
    waits = threading.Event()
    claim = second.cache.claim

    def watched(key: str) -> Reply | bool:
        if (claimed := claim(key)) is False:
            waits.set()
        return claimed

    monkeypatch.setattr(second.cache, "claim", watched)
    with ThreadPoolExecutor(2) as threads:
        asking = threads.submit(ask, first, numbers(5))
        while len(server.requests) < 5:
            assert not asking.done()
            time.sleep(0.01)
        waiting = threads.submit(ask, second, numbers(6))
        assert waits.wait(20)
        server._loop.call_soon_threadsafe(release.set)
        assert asking.result(20) == replies(5)
        *answered, unasked = waiting.result(20)
    assert answered == replies(5)
    assert "budget is spent" in unasked.reason
    assert (second.usage.requests, second.usage.cached, second.usage.unasked) == (0, 5, 1)


HOLDS_A_CLAIM = """
import sys, time
from dataenvgym.llm.cache import open_cache
where, key = sys.argv[1:]
cache = open_cache(where)
print(cache.claim(key), flush=True)
time.sleep(600)
"""


def test_the_claims_of_a_run_that_is_killed_are_taken_over(tmp_path):
    where = str(tmp_path / "cache")
    command = [sys.executable, "-c", HOLDS_A_CLAIM, where, KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        cache = FolderCache(where)
        assert cache.claim(KEY) is False
        process.kill()
        process.wait()
        assert cache.claim(KEY) is True


def test_claims_in_redis_end_unless_they_are_renewed(server, teach, redis_url, monkeypatch):
    from redis import Redis

    monkeypatch.setattr(redis_cache, "_RENEW_S", 0.0)
    owner: ReplyCache = open_cache(redis_url)
    assert owner.claim(KEY) is True
    redis = Redis.from_url(redis_url)
    (name,) = redis.keys()
    assert 0 < redis.pttl(name) <= 10_000
    redis.pexpire(name, 1000)
    owner.renew()
    assert redis.pttl(name) > 1000
    # a run that died: its claim ends, and a waiting run takes over
    asked = teach(cache=redis_url)
    claim, claimed = asked.cache.claim, []

    def of_the_dead(key: str) -> Reply | bool:
        if not claimed:
            redis.set(redis_cache._CLAIM + key, "the dead", px=300)
        claimed.append(claim(key))
        return claimed[-1]

    monkeypatch.setattr(asked.cache, "claim", of_the_dead)
    assert ask(asked, numbers(1)) == replies(1)
    assert (claimed[0], claimed[-1]) == (False, True)


def test_a_run_that_hangs_on_its_claims_is_not_waited_for_for_ever(
    server, teach, cache, monkeypatch
):
    monkeypatch.setattr(teacher_ask, "_PATIENCE_S", 0.3)
    held = teach(cache=cache).cache
    monkeypatch.setattr(held, "release", lambda key: None)
    asked = teach(cache=cache)
    claim = asked.cache.claim
    monkeypatch.setattr(asked.cache, "claim", lambda key: held.claim(key) and claim(key))
    assert ask(asked, numbers(3)) == replies(3)
    assert asked.usage.requests == 3


def test_a_cache_without_locks_is_a_cache_all_the_same(teach, tmp_path):
    (tmp_path / ".claims").mkdir()
    assert ask(teach(cache=tmp_path), numbers(3)) == replies(3)
    assert ask(teach(cache=tmp_path), numbers(3)) == replies(3)


# --- a server that is lost ---


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["dies", "hangs"])
def test_a_redis_server_that_is_lost_is_given_up_once(server, teach, own_redis, how, monkeypatch):
    url, process = own_redis
    teacher = teach(cache=f"{url}?socket_timeout=1", concurrency=4)
    assert ask(teacher, numbers(2)) == replies(2)
    uses: list[object] = []
    connected = teacher.cache._connected
    monkeypatch.setattr(teacher.cache, "_connected", lambda: uses.append(1) or connected())
    process.send_signal(how)
    if how == signal.SIGKILL:
        process.wait()
    warnings: list[str] = []
    with listening(warnings.append):
        assert ask(teacher, numbers(N)) == replies()
        assert ask(teacher, numbers(N)) == replies()
    assert len(uses) == 1
    (warning,) = warnings
    assert warning.startswith(f"the cache at {url} is lost and no longer used: ")
    assert teacher.usage.requests == 2 + 2 * N


def test_a_redis_server_that_is_lost_while_replies_come_costs_no_reply(server, teach, own_redis):
    url, process = own_redis

    async def die(request: web.Request, payload: Any) -> web.StreamResponse:
        process.kill()
        await asyncio.to_thread(process.wait)
        return await echo(request, payload)

    server.script(die)
    warnings: list[str] = []
    with listening(warnings.append):
        assert ask(teach(cache=url), numbers(N)) == replies()
    assert len(warnings) == 1


def test_a_connection_that_the_server_closed_is_opened_again(teach, redis_url):
    from redis import Redis

    teacher = teach(cache=redis_url)
    ask(teacher, numbers(2))
    Redis.from_url(redis_url).client_kill_filter(_type="normal", skipme=True)
    warnings: list[str] = []
    with listening(warnings.append):
        assert ask(teacher, numbers(2)) == replies(2)
    assert warnings == []
    assert teacher.usage.cached == 2
