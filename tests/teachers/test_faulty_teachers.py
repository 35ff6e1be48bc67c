"""A teacher's server that fails in every way, under a whole episode: nothing is lost."""

import asyncio
import json
import random
import re

import pytest
from aiohttp import web

from dataenvgym.agents import Agent, LLMEngine, OpenEndedPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded
from dataenvgym.errors import PredictionError
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_jsonl
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.teachers import Teacher
from dataenvgym.teachers.budget import read_usage
from tests.teachers.conftest import completion

N = 30  # records an iteration


class Author:
    """Answers requests for records, each with other ones; `fault` may do something else first."""

    def __init__(self, fault=None) -> None:
        self.fault = fault
        self.written = 0

    async def __call__(self, request, payload):
        if self.fault is not None and (answer := await self.fault(self)) is not None:
            return answer
        count = int(re.search(r"Write (\d+) new", payload["messages"][-1]["content"])[1])
        numbers = range(self.written, self.written + count)
        self.written += count
        records = [
            {"instruction": f"Say {words(n)} forwards.", "output": f"#### {n}"} for n in numbers
        ]
        return answered(json.dumps({"records": records}))


def words(number: int) -> str:
    """A text per number that is near to no other's."""
    draw = random.Random(number)
    return " ".join("".join(draw.choices("abcdefghij", k=6)) for _ in range(4))


def answered(text: str) -> web.Response:
    return completion(text, usage={"prompt_tokens": 100, "completion_tokens": 50})


def sometimes(fault):
    """`fault` for three requests in ten."""
    draw = random.Random(0)

    async def drawn(author):
        return await fault() if draw.random() < 0.3 else None

    return drawn


async def garbage():
    return answered(random.Random(1).choice(["", "no", '{"records": [{"instruction": "x', "[[[{"]))


async def error():
    return web.Response(status=500, text="out of memory")


async def silence():
    await asyncio.sleep(3600)


def play(directory, server, *, iterations=3, agent=None, **options):
    options = {"retries": 0, "api_key_variable": None} | options
    teacher = Teacher("author", base_url=server.url, directory=directory, **options)
    task = PocketMathTask(n_validation=12, n_test=12)
    engine = LLMEngine(teacher, task, batch_size=5)
    agent = Agent(OpenEndedPolicy(), engine, name="open_ended", records_per_iteration=N)
    student = ScriptedPredictor(lambda conversation: "#### 12345")
    try:
        return run_episode(
            OpenEnded(task, student, directory=directory), agent, iterations=iterations
        )
    finally:
        teacher.close()


@pytest.mark.parametrize(
    ("fault", "timeout", "counted"),
    [(garbage, 60.0, "malformed"), (error, 60.0, "failed"), (silence, 0.5, "failed")],
    ids=["garbage", "error", "silence"],
)
def test_a_teacher_that_fails_three_times_in_ten_ends_with_the_right_number_of_records(
    tmp_path, server, fault, timeout, counted
):
    server.respond = Author(sometimes(fault))
    summary = play(tmp_path / "run", server, timeout=timeout)
    assert [i.n_records for i in summary.iterations] == [0, N, N, N]
    assert (summary.status, summary.ended) == ("finished", None)
    assert summary.test_score_after is not None
    usage = summary.teacher
    assert getattr(usage, counted) > 0
    assert usage.requests == len(server.requests) > 18
    assert usage.cost is None


@pytest.mark.slow
def test_a_teacher_that_hangs_from_some_time_on_ends_with_its_budget_and_nothing_is_lost(
    tmp_path, server
):
    async def hang(author):
        return await silence() if author.written >= 50 else None

    server.respond = Author(hang)
    summary = play(tmp_path / "run", server, timeout=1.0, max_requests=16)
    assert summary.status == "finished"
    assert "16" in summary.ended
    assert "request" in summary.ended
    assert len(server.requests) == 16
    assert [i.n_records for i in summary.iterations] == [0, N, 20]
    kept = list(read_jsonl(tmp_path / "run" / "iterations" / "002" / "records.jsonl"))
    assert len(kept) == 20
    assert summary.test_score_after is not None


def test_a_teacher_that_never_answers_fails_the_episode_which_can_be_resumed(tmp_path, server):
    async def down_in_the_second_iteration(author):
        return await error() if author.written >= N else None

    server.respond = Author(down_in_the_second_iteration)
    with pytest.raises(PredictionError, match="answered none"):
        play(tmp_path / "run", server)
    server.respond = Author()
    server.respond.written = N
    summary = play(tmp_path / "run", server)
    assert [i.n_records for i in summary.iterations] == [0, N, N, N]
    assert summary.teacher == read_usage(tmp_path / "run")
    assert summary.teacher.requests == len(server.requests)


def test_a_repeated_episode_is_answered_from_the_cache(tmp_path, server):
    server.respond = Author(sometimes(garbage))
    first = play(tmp_path / "first", server, cache=tmp_path / "cache")
    asked = len(server.requests)
    second = play(tmp_path / "second", server, cache=tmp_path / "cache")
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
