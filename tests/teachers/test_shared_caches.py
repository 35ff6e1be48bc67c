"""Caches that several runs use at the same time, and a Redis server that is lost."""

import asyncio
import errno
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiohttp import web

from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Reply
from dataenvgym.teachers.cache import open_cache
from tests.teachers.conftest import ask, completion, echo, numbers

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


def test_runs_that_ask_the_same_at_once_get_the_same_replies(server, teach, cache):
    n_asked = 0

    async def count(request: web.Request, payload: Any) -> web.StreamResponse:
        nonlocal n_asked
        n_asked += 1
        text = f"reply {n_asked}"
        await asyncio.sleep(0.01)
        return completion(text)

    server.respond = count
    teachers = [teach(cache=cache, concurrency=4) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        got = list(threads.map(lambda teacher: ask(teacher, numbers(N)), teachers))
    assert got[0] == got[1] == got[2]
    assert len({reply.text for reply in got[0]}) == N
    assert sum(teacher.usage.requests for teacher in teachers) == n_asked
    assert sum(teacher.usage.cached for teacher in teachers) == 3 * N - n_asked
    later = teach(cache=cache, max_requests=0)
    assert ask(later, numbers(N)) == got[0]
    assert later.usage.cached == N


def test_the_first_stored_reply_wins_and_is_read_back(cache):
    one, two = open_cache(cache), open_cache(cache)
    assert one.put(KEY, Reply(text="first")) == Reply(text="first")
    assert two.put(KEY, Reply(text="second")) == Reply(text="first")
    assert two.get([KEY]) == one.get([KEY]) == [Reply(text="first")]


def test_a_cache_on_a_disk_without_links_is_a_cache_all_the_same(teach, tmp_path, monkeypatch):
    def link(*paths: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", link)
    assert ask(teach(cache=tmp_path), numbers(3)) == replies(3)
    assert ask(teach(cache=tmp_path, max_requests=0), numbers(3)) == replies(3)


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
    with hearing_warnings(warnings.append):
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
    with hearing_warnings(warnings.append):
        assert ask(teach(cache=url), numbers(N)) == replies()
    assert len(warnings) == 1
