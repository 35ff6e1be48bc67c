"""The teacher against a real HTTP server: requests, budget, cache and transcript."""

import asyncio
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiohttp import web

from dataenvgym.errors import BudgetSpentError, ConfigurationError, ExternalError, ServerError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TeacherInterface
from dataenvgym.records import Message
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_teacher
from dataenvgym.runs.config.identity import decisive_values
from dataenvgym.runs.config.instantiation import check_arguments
from dataenvgym.students.predictors.vllm import VllmPredictor
from dataenvgym.teachers import StudentTeacher, Teacher, count_malformed
from dataenvgym.teachers.budget import (
    TeacherUsage,
    read_usage,
    usage_file,
)
from dataenvgym.teachers.teacher_log import calls_file, read_calls
from tests.teachers.conftest import GREEDY, ask, completion, echo, numbers, say, status

WARM = SamplingParameters(temperature=1.0, seed=7)
PRICE = {"prompt": 2.0, "completion": 8.0}


# --- asking ---


def test_replies_come_in_the_order_of_the_conversations(server, teach):
    async def slowest_first(request: web.Request, payload: Any) -> web.StreamResponse:
        await asyncio.sleep(0.2 if payload["messages"][-1]["content"] == "0" else 0.0)
        return await echo(request, payload)

    server.respond = slowest_first
    teacher = teach()
    assert isinstance(teacher, TeacherInterface)
    assert ask(teacher, numbers(40)) == [Reply(text=str(i)) for i in range(40)]
    assert server.most_at_once > 1


def test_azure_gets_its_key_and_the_fields_that_its_models_want(server, teach, monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret")
    teacher = teach(
        "gpt",
        base_url=f"{server.url}/v1/",
        api_key_variable="AZURE_OPENAI_API_KEY",
        api_key_header="api-key",
        max_tokens_field="max_completion_tokens",
        fields={"reasoning_effort": "low", "temperature": None},
    )
    assert ask(teacher, numbers(1)) == [Reply(text="0")]
    assert server.headers[0]["api-key"] == "secret"
    assert "Authorization" not in server.headers[0]
    payload = server.requests[0]
    assert payload["max_completion_tokens"] == GREEDY.max_tokens
    assert payload["reasoning_effort"] == "low"
    assert not {"max_tokens", "temperature"} & payload.keys()


# --- the cache ---


def test_a_reply_from_the_cache_costs_nothing(server, teach, tmp_path):
    server.answer(lambda payload: "yes", tokens=(10, 5))
    first = teach(cache=tmp_path / "cache", price=PRICE)
    replies = ask(first, numbers(3))
    assert replies == [Reply(text="yes", prompt_tokens=10, completion_tokens=5)] * 3
    second = teach(cache=tmp_path / "cache", price=PRICE, max_requests=0)
    assert ask(second, numbers(3)) == replies
    assert len(server.requests) == 3
    assert second.usage == TeacherUsage(cached=3, cost=0.0)
    assert first.usage == TeacherUsage(
        requests=3, prompt_tokens=30, completion_tokens=15, cost=(30 * 2 + 15 * 8) / 1e6
    )


@pytest.mark.parametrize(
    "change",
    [
        {"model": "another"},
        {"suffix": "/a-proxy/.."},
        {"text": "another"},
        {"role": "system"},
        {"temperature": 0.5},
        {"top_p": 0.5},
        {"max_tokens": 5},
        {"seed": 8},
        {"json_schema": {"type": "object"}},
        {"fields": {"top_k": 3}},
        {"earlier": "before"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_request_is_another_entry(server, teach, tmp_path, change):
    def answer(*, model="m", text="hello", role="user", earlier=None, fields=None, **sampling):
        url = server.url + sampling.pop("suffix", "")
        conversation = (Message(role=role, content=text),)
        if earlier is not None:
            conversation = (Message(role="assistant", content=earlier), *conversation)
        teacher = teach(model, base_url=url, cache=tmp_path, fields=fields)
        return ask(teacher, [conversation], WARM.model_copy(update=sampling))

    answer()
    answer()
    assert len(server.requests) == 1
    answer(**change)
    assert len(server.requests) == 2


@pytest.mark.parametrize("sampling", [GREEDY, WARM])
def test_several_samples_of_one_request_are_several_entries(server, teach, tmp_path, sampling):
    server.answer(lambda payload: str(len(server.requests)))
    teacher = teach(cache=tmp_path, concurrency=1)
    asked = [say("a"), say("b"), say("a"), say("a")]
    assert [r.text for r in ask(teacher, asked, sampling)] == ["1", "2", "3", "4"]
    assert [r.text for r in ask(teach(cache=tmp_path), asked, sampling)] == ["1", "2", "3", "4"]
    assert [r.text for r in ask(teach(cache=tmp_path), [say("a")] * 4, sampling)] == [
        *("1", "3", "4", "5")
    ]
    seeds = [r.get("seed") for r in server.requests if r["messages"][0]["content"] == "a"]
    assert len(set(seeds)) == (1 if sampling is GREEDY else 4)
    if sampling is WARM:
        assert seeds[0] == WARM.seed


@pytest.mark.parametrize("content", [b"", b"{", b'{"key": "x", "reply": {"text": "other"}}'])
def test_a_broken_entry_is_asked_again_and_mended(server, teach, tmp_path, content):
    server.script(status(400, {}))
    assert isinstance(ask(teach(cache=tmp_path), numbers(1))[0], Failure)  # which is not stored
    server.requests.clear()
    ask(teach(cache=tmp_path), numbers(1))
    (entry,) = tmp_path.rglob("*.json")
    entry.write_bytes(content)
    assert ask(teach(cache=tmp_path), numbers(1)) == [Reply(text="0")]
    assert ask(teach(cache=tmp_path), numbers(1)) == [Reply(text="0")]
    assert len(server.requests) == 2
    assert list(tmp_path.rglob("*.tmp")) == []


def test_a_broken_entry_in_redis_is_asked_again(server, teach, redis_url):
    from redis import Redis

    ask(teach(cache=redis_url), numbers(1))
    redis = Redis.from_url(redis_url)
    (key,) = redis.keys()
    redis.set(key, b"{")
    assert ask(teach(cache=redis_url), numbers(1)) == [Reply(text="0")]
    assert len(server.requests) == 2


def test_a_missing_redis_server_is_reported_before_anything_is_spent(server, teach):
    teacher = teach(cache="redis://user:secret@127.0.0.1:1/0")
    with pytest.raises(ExternalError, match=r"set teacher\.cache") as raised:
        ask(teacher, numbers(1))
    assert "secret" not in str(raised.value)
    assert server.requests == []


def test_a_redis_server_that_is_full_costs_the_entry_and_not_the_reply(
    server, teach, redis_url, caplog
):
    from redis import Redis

    redis = Redis.from_url(redis_url)
    redis.config_set("maxmemory", 1)
    try:
        assert ask(teach(cache=redis_url), numbers(2)) == [Reply(text="0"), Reply(text="1")]
    finally:
        redis.config_set("maxmemory", 0)
    assert caplog.text.count("refused a reply") == 2
    assert redis.dbsize() == 0


def test_a_folder_that_takes_no_reply_costs_the_entry_and_not_the_reply(teach, tmp_path, caplog):
    teacher = teach(cache=tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    for first in range(256):  # files in place of folders
        (tmp_path / "cache" / f"{first:02x}").symlink_to(tmp_path / "nowhere" / "at" / "all")
    assert ask(teacher, numbers(1)) == [Reply(text="0")]
    assert "refused a reply" in caplog.text


# --- the budget ---


@pytest.mark.parametrize("concurrency", [1, 16])
def test_exactly_as_many_requests_are_made_as_may_be(server, teach, concurrency):
    teacher = teach(max_requests=25, concurrency=concurrency)
    outcomes = ask(teacher, numbers(40))
    assert outcomes[:25] == [Reply(text=str(i)) for i in range(25)]
    assert all("teacher.max_requests is 25" in o.reason for o in outcomes[25:])
    assert len(server.requests) == 25


def test_threads_together_make_no_more_requests_than_may_be(server, teach):
    teacher = teach(max_requests=50, concurrency=8)

    def try_to_ask(k: int) -> list[Any]:
        try:
            return ask(teacher, numbers(10, 10 * k))
        except BudgetSpentError:
            return []

    with ThreadPoolExecutor(12) as threads:
        outcomes = [o for some in threads.map(try_to_ask, range(12)) for o in some]
    assert len(server.requests) == 50
    assert sum(isinstance(o, Reply) for o in outcomes) == 50
    assert teacher.usage.requests == 50


@pytest.mark.parametrize(
    ("budget", "said"), [({"max_tokens": 100}, "105 tokens"), ({"max_cost": 0.00041}, r"\$0.0004")]
)
def test_tokens_and_money_stop_the_teacher_as_soon_as_they_are_counted(server, teach, budget, said):
    server.answer(lambda payload: "yes", tokens=(10, 5))  # 15 tokens, 60 millionths of a dollar
    teacher = teach(concurrency=1, price=PRICE, **budget)
    outcomes = ask(teacher, numbers(20))
    assert [isinstance(o, Reply) for o in outcomes] == [True] * 7 + [False] * 13
    assert len(server.requests) == 7
    with pytest.raises(BudgetSpentError, match=said):
        ask(teacher, numbers(1))


def test_a_limit_in_tokens_is_refused_if_they_are_not_counted(teach, tmp_path):
    teacher = teach(max_tokens=100, directory=tmp_path)
    with pytest.raises(ConfigurationError, match="teacher's"):
        ask(teacher, numbers(5))
    assert read_usage(tmp_path).uncounted >= 1


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (Teacher, "max_requests", -1),
        (Teacher, "max_cost", float("nan")),
        (StudentTeacher, "batch_size", 0),
        (VllmPredictor, "retries", -1),
    ],
)
def test_an_impossible_option_is_refused_by_its_key(kind, name, value):
    with pytest.raises(ConfigurationError, match=f"teacher.{name}"):
        check_arguments(kind, {name: value}, "teacher")


@pytest.mark.parametrize(
    "options",
    [
        {"max_cost": 1.0},  # without a price
        {"price": {"prompt": 1.0}},
        {"price": {"prompt": -1.0, "completion": 1.0}},
    ],
)
def test_a_limit_in_money_needs_a_price(teach, options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        teach(**options)


def test_the_cost_is_null_without_a_price_and_if_only_some_answers_tell_their_tokens(
    server, teach, tmp_path
):
    server.answer(lambda payload: "yes")
    priced = teach(price=PRICE)
    ask(priced, numbers(1))
    server.answer(lambda payload: "yes", tokens=(10, 5))
    ask(priced, numbers(1))
    assert (priced.usage.cost, priced.usage.uncounted) == (None, 1)
    teacher = teach(directory=tmp_path)
    ask(teacher, numbers(2))
    assert json.loads(usage_file(tmp_path).read_text())["cost"] is None
    assert [c.cost for c in read_calls(tmp_path)] == [None, None]
    assert teacher.usage.prompt_tokens == 20


# --- the transcript, and going on ---


def test_nothing_is_on_disk_before_the_first_question(teach, tmp_path):
    teacher = teach(directory=tmp_path / "run", cache=tmp_path / "cache")
    assert ask(teacher, []) == []
    assert list(tmp_path.iterdir()) == []


def test_every_call_is_a_line_in_the_order_of_the_questions(server, teach, tmp_path):
    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        text = payload["messages"][-1]["content"]
        await asyncio.sleep(0.05 if int(text) % 7 == 0 else 0.0)
        if text == "3":
            return web.json_response({"error": "no"}, status=400)
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return completion(text, "length", usage)

    server.respond = respond
    teacher = teach(directory=tmp_path, cache=tmp_path / "cache", price=PRICE, max_requests=25)
    teacher.ask(numbers(20), WARM, purpose="records")
    teacher.ask([*numbers(1), *numbers(10, 20)], WARM, purpose="skills")
    calls = list(read_calls(tmp_path))
    assert [(c.purpose, c.messages[0].content) for c in calls] == [
        *(("records", str(i)) for i in range(20)),
        *(("skills", str(i)) for i in (0, *range(20, 25))),
    ]
    first, failed, cached = calls[0], calls[3], calls[20]
    assert (first.model, first.sampling, first.reply) == ("m", WARM, "0")
    assert (first.finish_reason, first.failure, first.cached) == ("length", None, False)
    assert (first.prompt_tokens, first.completion_tokens) == (10, 5)
    assert first.cost == pytest.approx(60e-6)
    assert first.seconds >= 0.05
    assert first.time.endswith("+00:00")
    assert (failed.reply, failed.cost) == (None, None)
    assert "HTTP 400" in failed.failure
    assert (cached.cached, cached.reply, cached.cost, cached.prompt_tokens) == (True, "0", 0.0, 0)
    assert read_usage(tmp_path) == teacher.usage
    assert sum(c.cost or 0.0 for c in calls) == pytest.approx(teacher.usage.cost)


def test_calls_from_several_threads_keep_together(server, teach, tmp_path):
    teacher = teach(directory=tmp_path)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda k: ask(teacher, numbers(10, 10 * k)), range(6)))
    asked = [int(call.messages[0].content) for call in read_calls(tmp_path)]
    blocks = [asked[i : i + 10] for i in range(0, 60, 10)]
    assert sorted(blocks) == [list(range(10 * k, 10 * k + 10)) for k in range(6)]


def test_a_resumed_run_continues_counting(server, teach, tmp_path):
    server.answer(lambda payload: "yes", tokens=(10, 5))
    options = {"directory": tmp_path, "price": PRICE, "max_requests": 5}
    first = teach(**options)
    ask(first, numbers(3))
    count_malformed(first, 2)
    count_malformed(object(), 3)
    second = teach(**options)
    assert second.usage == first.usage
    outcomes = ask(second, numbers(4))
    assert [isinstance(o, Reply) for o in outcomes] == [True, True, False, False]
    assert len(server.requests) == 5
    assert read_usage(tmp_path) == TeacherUsage(
        requests=5, unasked=2, malformed=2, prompt_tokens=50, completion_tokens=25, cost=0.0003
    )
    with pytest.raises(BudgetSpentError):
        ask(teach(**options), numbers(1))
    assert ask(teach(**{**options, "max_requests": 6}), numbers(1))[0].text == "yes"


def test_requests_that_a_killed_run_had_not_summed_up_count_too(server, teach, tmp_path):
    server.answer(lambda payload: "yes", tokens=(10, 5))
    teacher = teach(directory=tmp_path)
    ask(teacher, numbers(3))
    before = teacher.usage
    usage_file(tmp_path).unlink()
    with calls_file(tmp_path).open("ab") as stream:
        stream.write(b'{"time": "2026-')  # torn by the kill
    assert len(list(read_calls(tmp_path))) == 3
    resumed = teach(directory=tmp_path)
    assert resumed.usage == before
    ask(resumed, numbers(1, 3))
    assert [c.messages[0].content for c in read_calls(tmp_path)] == ["0", "1", "2", "3"]
    assert calls_file(tmp_path).read_bytes().count(b"\n") == 4


ASKS_UNTIL_KILLED = """
import sys
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.teachers import Teacher
from dataenvgym.records import Message

url, directory = sys.argv[1:]
teacher = Teacher("m", base_url=url, api_key_variable=None, directory=directory,
                  max_requests=8, concurrency=6, price={"prompt": 2.0, "completion": 8.0})
asked = [(Message(role="user", content=str(i)),) for i in range(20)]
teacher.ask(asked, SamplingParameters(), purpose="records")
"""


def test_a_kill_neither_makes_requests_free_nor_gives_them_back(server, teach, tmp_path):
    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        text = payload["messages"][-1]["content"]
        if text not in "01":
            await asyncio.Event().wait()
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return completion(text, "stop", usage)

    server.respond = respond
    command = [sys.executable, "-c", ASKS_UNTIL_KILLED, server.url, str(tmp_path)]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 60
    while len(server.requests) < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert len(server.requests) == 8
    killed = read_usage(tmp_path)
    assert (killed.requests, killed.cost) == (8, None)
    server.answer(lambda payload: "yes", tokens=(10, 5))
    with pytest.raises(BudgetSpentError, match="max_requests"):
        ask(teach(directory=tmp_path, max_requests=8, price=PRICE), numbers(20))
    resumed = teach(directory=tmp_path, max_requests=9, price=PRICE)
    ask(resumed, numbers(20))
    assert len(server.requests) == 9
    usage = read_usage(tmp_path)
    assert (usage.requests, usage.unanswered, usage.failed, usage.cost) == (9, 6, 0, None)
    assert usage.prompt_tokens == 30


def test_a_key_that_is_refused_is_asked_once_and_written_down(server, teach, tmp_path):
    server.respond = status(401, {"error": {"message": "no such key"}})
    teacher = teach(directory=tmp_path, price=PRICE, retries=4)
    with pytest.raises(ServerError, match="Check"):
        ask(teacher, numbers(50))
    assert len(server.requests) == 1
    (call,) = read_calls(tmp_path)
    assert "no such key" in call.failure
    assert read_usage(tmp_path) == TeacherUsage(requests=1, failed=1, cost=0.0)
    with pytest.raises(ServerError):
        ask(teacher, numbers(50))
    assert len(server.requests) == 2


def test_an_interrupted_question_leaves_room_for_others_and_its_transcript(
    server, teach, tmp_path, monkeypatch
):
    server.answer(lambda payload: payload["messages"][-1]["content"], tokens=(10, 5))
    teacher = teach(directory=tmp_path, concurrency=4, price=PRICE)
    send = teacher.send

    def interrupted(requests: Any) -> Any:
        if len(server.requests) >= 8:
            raise KeyboardInterrupt
        return send(requests)

    monkeypatch.setattr(teacher, "send", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(teacher, numbers(40))
    monkeypatch.undo()
    done = len(list(read_calls(tmp_path)))
    assert 4 <= done < 40
    usage = read_usage(tmp_path)
    assert usage.unanswered == usage.requests - done > 0
    assert usage.cost is None
    assert [r.text for r in ask(teacher, numbers(12, 100))] == [str(i) for i in range(100, 112)]
    assert [c.messages[0].content for c in read_calls(tmp_path)][-12:] == [
        str(i) for i in range(100, 112)
    ]


def test_lines_are_written_while_later_replies_are_waited_for(server, teach, tmp_path):
    release = asyncio.Event()

    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        text = payload["messages"][-1]["content"]
        if text == "2":
            await release.wait()
        return completion(text)

    server.respond = respond
    teacher = teach(directory=tmp_path)
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(ask, teacher, numbers(4))
        for _ in range(1000):
            if len(list(read_calls(tmp_path))) == 2:
                break
            with pytest.raises(TimeoutError):
                asking.result(0.01)
        seen = [c.messages[0].content for c in read_calls(tmp_path)]
        server._loop.call_soon_threadsafe(release.set)
        assert len(asking.result(20)) == 4
    assert seen == ["0", "1"]
    assert [c.messages[0].content for c in read_calls(tmp_path)] == ["0", "1", "2", "3"]


# --- the configuration ---


def test_the_configuration_makes_teachers(server, tmp_path):
    server.answer(lambda payload: payload["messages"][-1]["content"], tokens=(10, 5))
    options = f"teacher=vllm teacher.model=m teacher.base_url={server.url} teacher.max_cost=1"
    price = "teacher.price={prompt: 2, completion: 8}"
    config = compose([*options.split(), f"runs_dir={tmp_path}", price])
    teacher = build_teacher(config, None, tmp_path / "run")
    assert isinstance(teacher, Teacher)
    assert [r.text for r in ask(teacher, numbers(2))] == ["0", "1"]
    assert len(list((tmp_path / ".teacher_cache").rglob("*.json"))) == 2
    assert read_usage(tmp_path / "run").cost == pytest.approx(2 * 60e-6)
    teacher.close()


def test_only_the_model_and_its_requests_determine_a_run():
    found = set()
    for group in ("openai", "vllm", "student"):
        model = [] if group == "student" else ["teacher.model=m"]
        config = compose([f"teacher={group}", "teacher.price={prompt: 2, completion: 8}", *model])
        found |= {key for key in decisive_values(config) if key.startswith("teacher.")}
    names = ("_target_", "model", "fields", "batch_size")
    assert found == {f"teacher.{name}" for name in names}
