"""A teacher's server that fails in every way, under a whole episode: nothing is lost."""

import asyncio
import random

import pytest
from aiohttp import web

from dataenvgym.errors import PredictionError
from dataenvgym.teachers.budget import read_usage
from tests.teachers.conftest import Author, completion, play

N = 30  # records an iteration


def sometimes(fault):
    """`fault` for three requests in ten."""
    draw = random.Random(0)

    async def drawn(author):
        return await fault() if draw.random() < 0.3 else None

    return drawn


async def garbage():
    text = random.Random(1).choice(["", "no", '{"records": [{"instruction": "x', "[[[{"])
    return completion(text, usage={"prompt_tokens": 100, "completion_tokens": 50})


async def error():
    return web.Response(status=500, text="out of memory")


async def silence():
    await asyncio.sleep(3600)


@pytest.mark.parametrize(
    ("fault", "timeout", "counted"),
    [(garbage, 60.0, "malformed"), (error, 60.0, "failed"), (silence, 0.5, "failed")],
    ids=["garbage", "error", "silence"],
)
def test_a_teacher_that_fails_three_times_in_ten_ends_with_the_right_number_of_records(
    tmp_path, server, fault, timeout, counted
):
    server.respond = Author(sometimes(fault))
    summary = play(tmp_path / "run", server.url, timeout=timeout)
    assert [i.n_records for i in summary.iterations] == [0, N, N, N]
    assert (summary.status, summary.ended) == ("finished", None)
    assert summary.test_score_after is not None
    usage = summary.teacher
    assert getattr(usage, counted) > 0
    assert usage.requests == len(server.requests) > 18
    assert usage.cost is None


def test_a_teacher_that_never_answers_fails_the_episode_which_can_be_resumed(tmp_path, server):
    async def down_in_the_second_iteration(author):
        return await error() if author.written >= N else None

    server.respond = Author(down_in_the_second_iteration)
    with pytest.raises(PredictionError, match="answered none"):
        play(tmp_path / "run", server.url)
    server.respond = Author()
    server.respond.written = N
    summary = play(tmp_path / "run", server.url)
    assert [i.n_records for i in summary.iterations] == [0, N, N, N]
    assert summary.teacher == read_usage(tmp_path / "run")
    assert summary.teacher.requests == len(server.requests)


def test_a_repeated_episode_is_answered_from_the_cache(tmp_path, server):
    server.respond = Author(sometimes(garbage))
    first = play(tmp_path / "first", server.url, cache=tmp_path / "cache")
    asked = len(server.requests)
    second = play(tmp_path / "second", server.url, cache=tmp_path / "cache")
    assert len(server.requests) == asked
    assert second.teacher.requests == 0
    assert second.teacher.cached == asked
    for number in (1, 2, 3):
        texts = [
            (tmp_path / run / "iterations" / f"{number:03d}" / "records.jsonl").read_text()
            for run in ("first", "second")
        ]
        assert texts[0] == texts[1]
    assert [i.val_score for i in first.iterations] == [i.val_score for i in second.iterations]
