"""The chat client against a real HTTP server that misbehaves as told."""

import asyncio
import copy
import gc
import json
import pickle
import random
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from dataenvgym.errors import ConfigurationError, PredictionError, ServerError
from dataenvgym.events import hearing_warnings, warn_run
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Message, Tool
from dataenvgym.records.tool_formats import HERMES, NATIVE, read_reply
from dataenvgym.teachers import ChatClient, ask_all, dispatcher
from dataenvgym.teachers.payloads import RequestForm, to_messages
from tests.processes import python
from tests.teachers.conftest import GREEDY, completion, echo, say, status

SOON = 20  # seconds after which a test has hung


def ask(client: ChatClient, text: str = "hello", **sampling: Any) -> Reply | Failure:
    future = client.submit(say(text), SamplingParameters(**sampling), model="m")
    return future.result(SOON)


def body(text: str) -> Any:
    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        return web.Response(text=text, content_type="application/json")

    return respond


async def hang_up(request: web.Request, payload: Any) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def die_mid_answer(request: web.Request, payload: Any) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices"')
    return await hang_up(request, payload)


async def never(request: web.Request, payload: Any) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.fixture
def connect(server):
    """Makes clients of the server that do not pause between tries."""
    made: list[ChatClient] = []

    def make(url: str | None = None, **options: Any) -> ChatClient:
        made.append(ChatClient(url or server.url, **{"backoff": 0.0, **options}))
        return made[-1]

    yield make
    for client in made:
        client.close()


# --- asking ---


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_url_may_have_v1_at_its_end(server, connect, suffix):
    assert ask(connect(server.url + suffix)) == Reply(text="hello")


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host", "http://", ""])
def test_a_value_that_is_not_a_url_is_refused(url):
    with pytest.raises(ConfigurationError, match="one like"):
        ChatClient(url)


def test_the_key_is_sent_as_bearer_token_and_never_shown(server, connect):
    client = connect(api_key="secret")
    ask(client)
    assert server.headers[0]["Authorization"] == "Bearer secret"
    assert "secret" not in repr(client)


def test_concurrency_is_reached_and_never_exceeded(server, connect):
    three_together = asyncio.Barrier(3)

    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        async with three_together:
            return completion("together")

    server.respond = respond
    client = connect(concurrency=3)
    futures = [client.submit(say(str(n)), GREEDY, model="m") for n in range(12)]
    assert {f.result(SOON) for f in futures} == {Reply(text="together")}
    assert server.most_at_once == 3


CUT = {"finish_reason": "length"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
BROKEN = {"function": {"name": "f", "arguments": '{"q'}}
CALLED = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.mark.parametrize(
    ("message", "choice", "text"),
    [
        ({"content": None}, CUT, ""),
        ({"content": "One, tw"}, CUT, "One, tw"),
        ({"content": "Wait.", "tool_calls": [CALL, CALL]}, {}, f"Wait.\n{CALLED}\n{CALLED}"),
        ({"tool_calls": [BROKEN]}, {}, CALLED.replace('{"a": 1}', '"{\\"q"')),
        ({"content": None, "reasoning_content": "let me see"}, CUT, ""),
        ({"content": "", "reasoning_content": "let me see"}, CUT, ""),
        ({"reasoning": "let me see"}, CUT, ""),
        ({"content": None, "reasoning_content": "let me"}, {"finish_reason": "MAX_TOKENS"}, ""),
        ({"content": None, "reasoning_content": "I am done."}, {}, ""),
        ({"content": None, "refusal": "I cannot do that."}, {}, "I cannot do that."),
        ({"content": ""}, {}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {}, "ab"),
        ({"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]}, CUT, ""),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, {}, "No."),
        ({"content": []}, {}, ""),
        ({"content": "a", "tool_calls": None, "function_call": None}, {}, "a"),
        ({"content": "a"}, {"finish_reason": None}, "a"),
        ({"tool_calls": [CALL]}, {"finish_reason": "tool_calls"}, CALLED),
        ({"content": None, "function_call": CALL["function"]}, {}, CALLED),
        ({"content": "a\ud800b"}, {}, "a\ufffdb"),
        ({"content": "\ud83d\ude00"}, {}, "\U0001f600"),
    ],
)
def test_what_a_model_said_is_a_reply_in_whatever_field_it_is(
    server, connect, message, choice, text
):
    choices = [{"finish_reason": "stop", **choice, "message": {"role": "assistant", **message}}]
    server.script(body(json.dumps({"choices": choices})))
    finish = "length" if choice == CUT or "MAX" in str(choice) else "stop"
    assert ask(connect()) == Reply(text=text, finish_reason=finish)


@pytest.mark.parametrize("deep", [100, 990, 1000, 1023, 1024, 5000])
def test_a_call_of_any_depth_is_a_reply(server, connect, deep):
    call = {"function": {"name": "f", "arguments": '{"a":' * deep + "1" + "}" * deep}}
    server.script(body(json.dumps({"choices": [{"message": {"tool_calls": [call]}}]})))
    assert isinstance(ask(connect()), Reply)


@pytest.mark.parametrize("arguments", [None, "", {}, "{}"])
def test_a_call_without_arguments_is_a_call(server, connect, arguments):
    call = {"function": {"name": "f", "arguments": arguments}}
    server.script(body(json.dumps({"choices": [{"message": {"tool_calls": [call]}}]})))
    asked = Message(role="user", content="?", tools=(Tool(name="f"),))
    (read,) = read_reply([asked], ask(connect()).text).message.tool_calls
    assert (read.name, read.arguments) == ("f", {})


@pytest.mark.parametrize("as_text", [False, True])
def test_integers_of_a_call_keep_their_digits_in_replies_and_requests(server, connect, as_text):
    arguments = {"n": 2**70, "of": [-(2**63) - 1, {"x": 3**99}]}
    given = json.dumps(arguments) if as_text else arguments
    call = {"function": {"name": "f", "arguments": given}}
    server.script(body(json.dumps({"choices": [{"message": {"tool_calls": [call]}}]})))
    asked = Message(role="user", content="?", tools=(Tool(name="f"),))
    message = read_reply([asked], ask(connect()).text).message
    assert message.tool_calls[0].arguments == arguments
    (sent,) = to_messages([message])[0]["tool_calls"]
    assert json.loads(sent["function"]["arguments"]) == arguments


# --- what is tried again ---


TRIED_AGAIN = [
    *([status(code), status(code)] for code in (408, 409, 429, 500, 502, 503, 504)),
    *(
        [body(json.dumps(answer))]
        for answer in (
            {"choices": []},
            {"choices": None},
            {"error": {"message": "slow down", "code": 429}, "choices": []},
            {"error": "overloaded"},
            {"object": "error", "message": "overloaded", "code": 503},
            {"choices": [{"error": {"code": 502}, "finish_reason": "error", "message": {}}]},
        )
    ),
    [hang_up],
    [die_mid_answer],
]


@pytest.mark.parametrize("answers", TRIED_AGAIN)
def test_a_temporary_failure_is_tried_again_and_the_last_one_is_an_outage(server, connect, answers):
    server.script(*answers)
    assert ask(connect(retries=2)) == Reply(text="hello")
    assert len(server.requests) == len(answers) + 1
    assert server.requests[0] == server.requests[-1]
    server.respond = answers[0]
    failure = ask(connect(retries=1))
    assert failure.reason.startswith("gave up after 2 tries, the last: ")
    assert failure.outage


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "0"},
        {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"},
        {"retry-after-ms": "1", "Retry-After": "7200"},
        {"retry-after-ms": "soon", "Retry-After": "0"},
    ],
)
def test_the_pause_is_the_one_that_the_server_requests(server, connect, headers):
    server.script(status(429, **headers), status(503, **headers))
    # the client's own pause would be longer than the test waits
    assert ask(connect(backoff=10_000.0)) == Reply(text="hello")
    server.script(status(429, {"error": "come back"}, **{"Retry-After": "7200"}))
    assert "come back (the server asks to wait 7200 s" in ask(connect()).reason


def test_an_answer_that_does_not_come_in_time_is_tried_again(server, connect):
    server.script(never)
    assert ask(connect(timeout=0.2, retries=50)) == Reply(text="hello")
    server.respond = never
    assert "no answer within 0.05 s" in ask(connect(timeout=0.05, retries=1)).reason


def test_pauses_double_and_half_of_them_is_left_to_chance():
    from dataenvgym.teachers.dispatcher import backoff

    drawn = [backoff(1.0, tries, random.Random(tries)) for tries in range(1, 10)]
    for pause, whole in zip(drawn, [1, 2, 4, 8, 16, 30, 30, 30, 30], strict=True):
        assert whole / 2 <= pause <= whole
    assert len(set(drawn)) == 9


# --- what is not ---


NO_ANSWER = [
    (status(400, {"error": {"message": "too long"}}), "HTTP 400: too long"),
    (status(413, {"object": "error", "message": "too long"}), "HTTP 413: too long"),
    (status(422, {"detail": "Not Found"}), "HTTP 422: Not Found"),
    (status(400, ["?"]), 'HTTP 400: ["?"]'),
    (body(""), "(nothing)"),
    *(
        (body(text), text)
        for text in (
            *("<html>", "null", "[]", '{"choices": [3]}', '{"choices": [{"message": null}]}'),
            '{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}',
            '{"choices": [{"message": {"content": "half"}, "finish_reason": "content_filter"}]}',
            '{"choices": [{"message": {"content": 7}, "finish_reason": "stop"}]}',
            '{"choices": [{"message": {"content": "half an"}, "finish_reason": "abort"}]}',
            '{"choices": [{"message": {"content": null, "tool_calls": [{"function": null}]}}]}',
            '{"choices": [{"message": {"content": null, "tool_calls": 3}}]}',
        )
    ),
]


@pytest.mark.parametrize(("answer", "reason"), NO_ANSWER, ids=[reason for _, reason in NO_ANSWER])
def test_a_permanent_error_fails_at_once_and_so_does_an_answer_without_a_reply(
    server, connect, answer, reason
):
    server.respond = answer
    reply = ask(connect())
    assert isinstance(reply, Failure)
    assert reason in reply.reason
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "check"),
    [(401, "api_key_variable"), (403, "api_key_variable"), (404, "model and base_url")],
)
def test_a_server_that_refuses_everything_is_asked_once_and_all_calls_raise(
    server, connect, monkeypatch, code, check
):
    monkeypatch.setattr(dispatcher, "_AHEAD_S", 60)  # on a busy machine a refusal may take a second
    submitted = threading.Event()  # no answer comes before all have been asked

    async def refuse(request, payload):
        await asyncio.to_thread(submitted.wait, 20)
        return web.json_response({"error": {"message": "no"}}, status=code)

    server.respond = refuse
    client = connect(scout=True, retries=3)
    calls = [client.submit(say(str(i)), GREEDY, model="m") for i in range(40)]
    submitted.set()
    for call in calls:
        with pytest.raises(ServerError, match=f"{code}.* Check {check}") as raised:
            call.result(20)
        assert raised.value.status == code
    assert len(server.requests) == 1
    with pytest.raises(ServerError):
        ask_all(partial(client.submit, model="m"), [say("x")], GREEDY)
    assert len(server.requests) == 2
    server.respond = echo
    assert ask(client) == Reply(text="hello")


def test_a_single_question_may_be_forbidden(server, connect):
    server.script(echo, status(403, {"error": "flagged"}), status(404, {"error": "gone"}))
    client = connect(scout=True)
    assert ask(client) == Reply(text="hello")
    assert ask(client) == Failure(reason="HTTP 403: flagged")
    assert ask(client) == Failure(reason="HTTP 404: gone")
    assert ask(client) == Reply(text="hello")


def test_a_revoked_key_stops_waiting_requests(server, connect):
    async def revoked(request, payload):
        if len(server.requests) > 8:
            return web.json_response({"error": "revoked"}, status=401)
        return await echo(request, payload)

    server.respond = revoked
    client = connect(scout=True, concurrency=4)
    calls = [client.submit(say(str(i)), GREEDY, model="m") for i in range(100)]
    raised = [isinstance(call.exception(20), ServerError) for call in calls]
    assert raised.count(False) == 8
    assert len(server.requests) <= 8 + 4


def test_the_others_follow_a_first_call_that_takes_its_time(server, connect):
    release = asyncio.Event()

    async def slow(request, payload):
        if len(server.requests) < 4:
            await release.wait()
        else:
            release.set()
        return await echo(request, payload)

    server.respond = slow
    client = connect(scout=True)
    calls = [client.submit(say(str(i)), GREEDY, model="m") for i in range(4)]
    assert [call.result(20) for call in calls] == [Reply(text=str(i)) for i in range(4)]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (400, {"code": "content_filter", "message": "filtered", "status": 400}),
        (403, {"code": 403, "message": "filtered", "metadata": {"flagged_input": "x"}}),
        (500, {"message": "filtered", "innererror": {"code": "content_policy_violation"}}),
        (200, {"code": "content_filter", "message": "filtered"}),
        (200, {"code": 400, "message": "filtered"}),
        (429, {"code": "context_length_exceeded", "message": "filtered"}),
    ],
)
def test_a_conversation_that_is_refused_for_good_fails_alone(server, connect, code, error):
    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        if (text := payload["messages"][-1]["content"]) == "0":
            return web.json_response({"error": error}, status=code)
        return completion(text)

    server.respond = respond
    client = connect(scout=True)
    first, *replies = ask_all(partial(client.submit, model="m"), [*map(say, range(4))], GREEDY)
    assert first == Failure(reason=f"HTTP {code}: filtered")
    assert replies == [Reply(text=str(n)) for n in (1, 2, 3)]
    assert len(server.requests) == 4


# --- payloads ---


def test_a_greedy_request_has_no_seed_and_a_drawn_one_has(server, connect):
    client = connect()
    ask(client, "hi", max_tokens=5, seed=3)
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    ask(client, "hi", temperature=0.7, top_p=0.9, seed=3, json_schema=schema)
    assert server.requests[0] == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 5,
    }
    assert (server.requests[1]["temperature"], server.requests[1]["top_p"]) == (0.7, 0.9)
    assert server.requests[1]["seed"] == 3
    assert server.requests[1]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": schema, "strict": True},
    }


def test_tool_calls_and_their_results_name_each_other(server, connect):
    weather = {"name": "weather", "arguments": {"city": "Köln"}}
    conversation = (
        Message(role="system", content="Use tools."),
        Message(role="user", content="Weather?"),
        Message(role="assistant", content="", tool_calls=(weather, {"name": "clock"})),
        Message(role="tool", content="rain"),
        Message(role="tool", content="noon"),
        Message(role="assistant", content="Hm", tool_calls=({"name": "clock"},)),
        Message(role="tool", content="one"),
    )
    client = connect()
    assert client.submit(conversation, GREEDY, model="m").result(SOON) == Reply(text="one")
    sent = server.requests[0]["messages"]
    assert sent[0] == {"role": "system", "content": "Use tools."}
    function = {"name": "weather", "arguments": '{"city":"Köln"}'}
    assert sent[2]["tool_calls"][0] == {"id": "call_0", "type": "function", "function": function}
    called = [call["id"] for m in sent for call in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in sent if m["role"] == "tool"]
    assert called == answered == ["call_0", "call_1", "call_2"]


def test_the_result_of_a_malformed_call_is_sent_as_a_user_message():
    """Servers refuse a tool's message that answers no call."""
    conversation = (
        Message(role="user", content="When?", tools=(Tool(name="clock"),)),
        Message(role="assistant", content="", tool_calls=({"name": "clock"},)),
        Message(role="tool", content="noon"),
        Message(role="tool", content="Error: cut off"),
        Message(role="assistant", content="<tool_call>{"),
        Message(role="tool", content="Error: cut off"),
    )
    assert [m["role"] for m in to_messages(conversation)] == [
        *("user", "assistant", "tool", "user", "assistant", "user")
    ]


@pytest.mark.parametrize("form", [NATIVE, HERMES], ids=["native", "hermes"])
def test_tools_are_sent_apart_from_the_text_or_as_text(server, connect, form):
    tool = Tool(name="clock", parameters={"type": "object"})
    conversation = (
        Message(role="user", content="When?", name="Ann Lee", tools=(tool,)),
        Message(role="assistant", content="", tool_calls=({"name": "clock"},)),
        Message(role="tool", content="noon"),
    )
    client = connect(form=RequestForm(tool_format=form))
    client.submit(conversation, GREEDY, model="m").result(SOON)
    request = server.requests[0]
    if form is NATIVE:
        function = {"name": "clock", "description": "", "parameters": {"type": "object"}}
        assert request["tools"] == [{"type": "function", "function": function}]
        assert [m["role"] for m in request["messages"]] == ["user", "assistant", "tool"]
        assert request["messages"][0] == {"role": "user", "content": "Ann Lee: When?"}
    else:
        flat = [{"role": m.role, "content": m.content} for m in form.flatten(conversation)]
        assert request["messages"] == flat
        assert "tools" not in request


# --- a server that dies ---


class Nurse:
    """An `on_disconnect` that counts its calls and revives the server."""

    def __init__(self, revive: Callable[[], None]) -> None:
        self.calls = 0
        self.at_once = 0
        self._revive = revive

    def __call__(self) -> None:
        self.calls += 1
        self.at_once += 1
        assert self.at_once == 1
        self._revive()
        self.at_once -= 1


forgets = status(404, {"error": {"message": "no model `m`"}})


@pytest.mark.parametrize("dies", [hang_up, forgets], ids=["dies", "forgets"])
def test_a_dead_server_is_revived_once_and_all_it_left_behind_is_asked_again(server, connect, dies):
    all_are_there = asyncio.Barrier(20)

    async def die_together(request: web.Request, payload: Any) -> web.StreamResponse:
        await all_are_there.wait()
        return await dies(request, payload)

    server.respond = die_together
    asked, heard = [], []

    def revive() -> None:
        server.script()
        asked.append(client.request("GET", "/health"))
        warn_run("revived")

    nurse = Nurse(revive)
    client = connect(concurrency=20, retries=0, on_disconnect=nurse)
    with hearing_warnings(heard.append):
        futures = [client.submit(say(str(n)), GREEDY, model="m") for n in range(50)]
        assert [f.result(SOON) for f in futures] == [Reply(text=str(n)) for n in range(50)]
    assert nurse.calls == 1
    assert (asked, heard) == (["fine"], ["revived"])


def test_a_request_that_kills_every_server_fails_alone(server, connect):
    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        if payload["messages"][-1]["content"] == "poison":
            return await hang_up(request, payload)
        return completion("fine")

    server.respond = respond
    nurse = Nurse(lambda: None)
    client = connect(on_disconnect=nurse, concurrency=1)
    futures = [client.submit(say(text), GREEDY, model="m") for text in ("a", "poison", "b")]
    a, poison, b = [f.result(SOON) for f in futures]
    assert a == b == Reply(text="fine")
    assert isinstance(poison, Failure)
    assert "the server went away 5 times under this request" in poison.reason


def test_when_the_server_cannot_be_revived_all_calls_raise_why(server, connect):
    all_are_asked = threading.Event()

    def give_up() -> None:
        assert all_are_asked.wait(SOON)
        raise ServerError("the server died 3 times: see server.log")

    server.respond = hang_up
    nurse = Nurse(give_up)
    client = connect(concurrency=2, on_disconnect=nurse)
    futures = [client.submit(say(str(n)), GREEDY, model="m") for n in range(30)]
    all_are_asked.set()
    for future in futures:
        with pytest.raises(ServerError, match=r"see server\.log"):
            future.result(SOON)
    assert nurse.calls == 1


def test_an_error_in_the_revival_is_a_server_error_too(server, connect):
    def revive() -> None:
        raise OSError("no such file: vllm")

    server.respond = hang_up
    with pytest.raises(ServerError, match="bringing"):
        ask(connect(on_disconnect=revive))


# --- other requests ---


def test_other_requests_do_not_queue_behind_conversations(server, connect):
    server.respond = never
    client = connect(concurrency=1)
    futures = [client.submit(say("?"), GREEDY, model="m") for _ in range(3)]
    assert client.request("GET", "/health") == "fine"
    assert client.request("POST", "/v1/json", {"lora": "ä"}) == {"got": {"lora": "ä"}}
    assert not any(f.done() for f in futures)


def test_other_requests_raise_with_the_status(server, connect):
    with pytest.raises(ServerError, match="nowhere") as refused:
        connect().request("GET", "/nowhere")
    assert refused.value.status == 404
    server.respond = never
    with pytest.raises(ServerError, match=r"no answer within 0\.05 s") as late:
        connect().request("POST", "/v1/chat/completions", {}, timeout=0.05)
    assert late.value.status is None
    with pytest.raises(ServerError, match="no connection"):
        connect("http://127.0.0.1:1").request("GET", "/health")


# --- the end ---


def holding(server: Any) -> tuple[threading.Event, threading.Event]:
    """Have the server hold on to requests; set when one arrives, and when its client hangs up."""
    arrived, hung_up = threading.Event(), threading.Event()

    async def respond(request: web.Request, payload: Any) -> web.StreamResponse:
        if payload["messages"][-1]["content"] != "wait":
            return completion("next")
        arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            hung_up.set()
        raise AssertionError

    server.respond = respond
    return arrived, hung_up


def test_a_cancelled_call_hangs_up_and_makes_room(server, connect):
    arrived, hung_up = holding(server)
    client = connect(concurrency=1)
    future = client.submit(say("wait"), GREEDY, model="m")
    queued = client.submit(say("wait"), GREEDY, model="m")
    assert arrived.wait(SOON)
    assert queued.cancel()
    assert future.cancel()
    assert hung_up.wait(SOON)
    assert ask(client, "anyone?") == Reply(text="next")
    assert len(server.requests) == 2


def test_closing_ends_connections_and_fails_open_requests(server, connect):
    arrived, hung_up = holding(server)
    client = connect(concurrency=1)
    futures = [client.submit(say("wait"), GREEDY, model="m") for _ in range(3)]
    assert arrived.wait(SOON)
    client.close()
    client.close()
    assert {f.result(0) for f in futures} == {
        Failure(reason="the client was closed before an answer came", outage=True)
    }
    assert hung_up.wait(SOON)
    with pytest.raises(PredictionError, match="is closed: make a new one"):
        client.submit(say("?"), GREEDY, model="m")


def loop_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "dataenvgym-llm"]


@pytest.mark.parametrize("closes", [True, False])
def test_nothing_of_a_client_is_left_even_if_callbacks_refer_to_it(server, closes):
    before = len(loop_threads())
    client = ChatClient(server.url)
    assert len(loop_threads()) == before
    gone = weakref.ref(client)
    future = client.submit(say("hi"), GREEDY, model="m")
    called_back = threading.Event()
    future.add_done_callback(lambda _, client=client: called_back.set())
    assert called_back.wait(SOON)
    ask(client)  # whatever follows on the first answer is over
    if closes:
        client.close()
    del client, future
    gc.collect()
    assert gone() is None
    assert len(loop_threads()) == before


def test_a_process_that_forgets_to_close_ends_all_the_same(server):
    code = (
        "from dataenvgym.teachers import ChatClient\n"
        "from dataenvgym.interfaces import SamplingParameters\n"
        "from dataenvgym.records import Message\n"
        f"client = ChatClient({server.url!r})\n"
        "asked = (Message(role='user', content='hi'),)\n"
        "print(client.submit(asked, SamplingParameters(), model='m').result().text)\n"
    )
    done = python("-X", "dev", "-c", code)
    # asyncio's debug mode also names steps that took 0.1 s, on a busy machine
    said = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, done.stdout, said) == (0, "hi\n", [])


def test_a_copy_is_a_client_that_has_not_connected_yet(server, connect):
    client = connect(concurrency=3, api_key="secret", jitter=random.Random(1))
    ask(client)
    before = len(loop_threads())
    for twin in (pickle.loads(pickle.dumps(client)), copy.deepcopy(client)):
        with twin:
            assert len(loop_threads()) == before
            assert ask(twin) == Reply(text="hello")
            assert twin.base_url == client.base_url
            assert server.headers[-1]["Authorization"] == "Bearer secret"
