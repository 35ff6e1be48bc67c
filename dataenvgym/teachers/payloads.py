"""Requests and answers of the chat completions endpoint, or that of completions, as bytes.

Differences to our records: in OpenAI's form, a tool call has an id, its arguments are JSON text,
and a tool's message names the call that it answers. Our conversations answer calls in order, so
the ids are generated here: `call_0`, `call_1`, ... through the conversation.

A reply is text. Tool calls that a server returns separately are appended to the text, in the form
of `tool_formats.hermes`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import JsonValue

from dataenvgym import exact_json
from dataenvgym.errors import shorten
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.records.tool_formats import COMPLETION, NATIVE, ToolFormat, as_function, calls_text
from dataenvgym.teachers.budget import Price

_NO_ANSWER = ("abort", "error", "content_filter")
_CUT_OFF = ("length", "max_tokens")
_THOUGHTS = ("reasoning_content", "reasoning")
_SHOWN = 500


@dataclass(frozen=True)
class RequestForm:
    """The form of requests that a server expects, where it differs from most servers.

    Attributes:
        max_tokens_field: the field for the longest reply; OpenAI's newer models expect
            "max_completion_tokens".
        fields: more fields of each request, or other values for ours; None leaves a field out.
        tool_format: writes conversations with tools; `native` sends them separately from the text,
            and `COMPLETION` sends bare text to the other endpoint.
        call_id: the id of a call, from its number. Mistral's templates require nine letters and
            digits.
    """

    max_tokens_field: str = "max_tokens"
    fields: Mapping[str, JsonValue] = field(default_factory=dict)
    tool_format: ToolFormat = NATIVE
    call_id: str = "call_{}"

    @property
    def path(self) -> str:
        """The endpoint on the server."""
        return "/v1/completions" if self.tool_format is COMPLETION else "/v1/chat/completions"


PLAIN = RequestForm()


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """The options of `ChatClient`.

    Attributes:
        base_url: the server, e.g. "http://127.0.0.1:8000", with or without "/v1".
        api_key: sent as bearer token, if there is one.
        api_key_header: send the key in this header instead, without "Bearer"; Azure's is "api-key".
        form: the form of requests that the server expects.
        concurrency: largest number of conversations at the server at the same time, including calls
            that pause before a retry. Any number of others wait in a queue.
        timeout: seconds that one try may take.
        retries: how often a call is tried again.
        on_disconnect: called in a thread when the connection cannot be made or breaks, or when the
            server does not know the model (404: after a restart, adapters loaded at run time are
            gone). It must make the server answer again. One call serves all interrupted requests;
            they are then sent again, up to five times each, which does not count as a retry. If it
            raises (`ServerError`), all calls made until then raise the same error.
        scout: whether the first call is sent alone, for at most a second, so that a server that
            refuses everything is asked once.
        backoff: seconds of the first pause; each pause is between half of its length and all of it.
        jitter: draws the pauses; None uses a new generator.
        price: of the model, for the `cost` of replies; None if it is unknown.
    """

    base_url: str = field(kw_only=False)
    api_key: str | None = field(default=None, repr=False)
    api_key_header: str | None = None
    form: RequestForm = PLAIN
    concurrency: int = 256
    timeout: float = 600.0
    retries: int = 4
    on_disconnect: Callable[[], None] | None = None
    scout: bool = False
    backoff: float = 0.5
    jitter: random.Random | None = None
    price: Price | None = None


def chat_payload(
    conversation: Conversation,
    sampling: SamplingParameters,
    *,
    model: str,
    form: RequestForm = PLAIN,
) -> bytes:
    """The body of a request; a greedy one has no seed.

    Raises:
        ConfigurationError: for a conversation that cannot be written as one text to complete.
    """
    conversation = form.tool_format.flatten(conversation)
    asked: dict[str, Any] = (
        {"prompt": conversation[-1].content}
        if form.tool_format is COMPLETION
        else {"messages": to_messages(conversation, form.call_id)}
    )
    payload: dict[str, Any] = {
        "model": model,
        **asked,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        form.max_tokens_field: sampling.max_tokens,
    }
    if conversation and conversation[0].tools:
        payload["tools"] = [as_function(tool) for tool in conversation[0].tools]
    if sampling.temperature > 0.0:
        payload["seed"] = sampling.seed
    if sampling.json_schema is not None:
        schema = {"name": "reply", "schema": sampling.json_schema, "strict": True}
        payload["response_format"] = {"type": "json_schema", "json_schema": schema}
    if sampling.stop:
        payload["stop"] = sampling.stop
    payload |= form.fields
    return exact_json.dumps({name: payload[name] for name in payload if payload[name] is not None})


def to_messages(conversation: Conversation, call_id: str = PLAIN.call_id) -> list[dict[str, Any]]:
    """The conversation in the form of OpenAI's servers."""
    messages: list[dict[str, Any]] = []
    n_calls = n_answered = 0
    for message in conversation:
        sent: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            sent["tool_calls"] = [
                {
                    "id": call_id.format(n_calls + i),
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": exact_json.dumps(call.arguments).decode(),
                    },
                }
                for i, call in enumerate(message.tool_calls)
            ]
            n_answered = n_calls  # calls without an answer so far never get one
            n_calls += len(message.tool_calls)
        elif message.role == "tool" and n_answered < n_calls:
            sent["tool_call_id"] = call_id.format(n_answered)
            n_answered += 1
        elif message.role == "tool":  # about a malformed call, which servers do not know
            sent["role"] = "user"
        messages.append(sent)
    return messages


def parse_reply(body: bytes) -> Reply | Failure | int:
    """The reply in an answer with status 200, or why there is none; tool calls are a reply.

    A reply without content is empty if it was cut off, or if it has a thought: the model has spent
    its tokens on that. An error, which some servers send like that, is the status that it means.
    """
    try:
        # orjson refuses lone surrogates, which a model may have written
        answer = json.loads(body) if rb"\ud" in body.lower() else exact_json.loads(body)
        error = answer if answer.get("object") == "error" else answer.get("error")
        choices = () if error else answer["choices"] or ()
        if error or not choices or (error := choices[0].get("error")):
            code = error.get("code") if isinstance(error, dict) else None
            return code if type(code) is int and 400 <= code < 600 else 502
        choice = choices[0]
        message = choice.get("message") or {"content": choice["text"]}
        calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
        ended = str(choice.get("finish_reason")).lower()
        text = _with_calls(_said(message), calls if calls[0].get("function") else ())
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Failure(reason=f"the server's answer is not a completion: {_shown(body)}")
    is_cut = ended in _CUT_OFF
    if text is None and (is_cut or any(message.get(name) for name in _THOUGHTS)):
        text = ""
    if not isinstance(text, str) or ended in _NO_ANSWER:
        return Failure(
            reason=f"the server gave no answer (finish_reason {ended!r}): {_shown(body)}"
        )
    usage = answer.get("usage")  # if the server reports it
    counts = (
        usage.get(name) if isinstance(usage, dict) else None
        for name in ("prompt_tokens", "completion_tokens")
    )
    prompt, completion = (n if type(n) is int and n >= 0 else None for n in counts)
    return Reply(
        text=text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        finish_reason="length" if is_cut else "stop",
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


def _said(message: Mapping[str, Any]) -> Any:
    """The content of a message, which may be a list of parts, or else its refusal."""
    content = message.get("content")
    if isinstance(content, list):
        said = (part.get("text") or part.get("refusal") for part in content)
        content = "".join(text for text in said if isinstance(text, str))
    return message.get("refusal") or content if content in (None, "") else content


def _with_calls(text: Any, calls: Any) -> Any:
    """The reply's text, followed by its tool calls, if there are any."""
    if not calls:
        return text
    said = [text] if text else []
    for function in (call["function"] for call in calls):
        arguments = function.get("arguments") or {}
        try:
            read = exact_json.loads(arguments) if isinstance(arguments, str) else arguments
            said.append(calls_text([(function["name"], read)]))
        except (orjson.JSONDecodeError, RecursionError):  # text that is not JSON is kept
            said.append(calls_text([(function["name"], arguments)]))
    return "\n".join(said)


OF_ONE = re.compile(
    rb'"(content_filter|content_policy_violation|flagged_input|context_length_exceeded)"'
)
"""The code of an error that concerns this conversation alone."""


def server_message(body: bytes) -> str:
    """The server's description of an error: its own message if there is one, else the body."""
    try:
        said = exact_json.loads(body)
    except orjson.JSONDecodeError:
        return _shown(body)
    for key in ("error", "message", "detail"):
        if isinstance(said, dict) and said.get(key):
            said = said[key]
    return said if isinstance(said, str) else _shown(body)


def _shown(body: bytes) -> str:
    return shorten(body[: 4 * _SHOWN].decode(errors="replace"), _SHOWN) or "(nothing)"
