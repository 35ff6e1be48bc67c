"""The HTTP session of a chat client: its connections to one server, in one event loop.

It uses aiohttp and not OpenAI's package. With the latter, even over aiohttp, a request costs three
to five times the processor time. At 2,000 conversations at once, that package reaches 0.15 (typed
calls) to 0.32 (plainest calls) of the requests per second of a bare aiohttp loop; this module 0.8.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import aiohttp
import orjson
from pydantic import JsonValue
from yarl import URL

from dataenvgym import exact_json
from dataenvgym.errors import ServerError
from dataenvgym.events import redact, redact_bytes, without_secrets
from dataenvgym.interfaces import Failure
from dataenvgym.teachers.payloads import server_message

CONNECT_S = 30.0
"""Seconds after which a connection attempt is given up."""
# Servers close idle connections (uvicorn after 5 s). Close them first, or a request may hit that.
_KEEP_ALIVE_S = 3.0


class HttpAnswer(NamedTuple):
    """A server's answer; `retry_after` is the number of seconds that it asks to wait."""

    status: int
    body: bytes
    retry_after: float | None


class Trouble(NamedTuple):
    """A try without an answer; another try may succeed.

    Attributes:
        reason: of the failure.
        disconnected: whether the connection could not be made or broke, or whether a server that
            can be restarted no longer knows the model.
        retry_after: the seconds that the server asks to wait, or None.
    """

    reason: str
    disconnected: bool = False
    retry_after: float | None = None


class Session:
    """Connects at first use, in the event loop of that use.

    Args:
        url: the server, without "/v1".
        headers: sent with every request, in addition to our own.
        path: where conversations are sent.
    """

    def __init__(self, url: str, headers: Mapping[str, str], path: str) -> None:
        self._url = URL(url)
        self._headers = {
            "Content-Type": "application/json",
            "User-Agent": "dataenvgym",
            **headers,
        }
        self._http: aiohttp.ClientSession | None = None
        self._ask_url = self._at(path)

    @property
    def _connected(self) -> aiohttp.ClientSession:
        """aiohttp's session."""
        if self._http is None:
            self._http = aiohttp.ClientSession(
                # no limit here: the number of workers is the limit, and `request` needs room;
                # no total timeout either: aiohttp's own costs more than a clock for each try
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                read_bufsize=2**18,
            )
        return self._http

    async def ask(self, body: bytes, timeout: float) -> HttpAnswer | Trouble | Failure:
        """Send one request for a reply."""
        try:
            async with (
                asyncio.timeout(timeout) as clock,
                self._connected.post(
                    self._ask_url,
                    data=aiohttp.BytesPayload(body, content_type="application/json"),
                    allow_redirects=False,
                ) as response,
            ):
                answer = redact_bytes(await response.read())
        except TimeoutError:
            if clock.expired():
                return Trouble(f"no answer within {timeout:g} s")
            return Trouble(f"no connection within {CONNECT_S:g} s")
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, OSError) as error:
            return Trouble(_lost_connection(error), disconnected=True)
        except aiohttp.ClientError as error:
            return Failure(reason=redact(f"the server's answer is not HTTP: {error}"))
        return HttpAnswer(response.status, answer, _retry_after(response.headers))

    async def request(self, method: str, path: str, payload: JsonValue, timeout: float) -> Any:
        """Send one request of any kind; see `ChatClient.request`."""
        url = self._at(path)
        what = f"{method} {without_secrets(str(url))}"
        body = None if payload is None else exact_json.dumps(payload)
        try:
            async with (
                asyncio.timeout(timeout),
                self._connected.request(method, url, data=body) as response,
            ):
                answer = redact_bytes(await response.read())
        except TimeoutError:
            raise ServerError(f"{what}: no answer within {timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise ServerError(f"{what}: {_lost_connection(error)}") from error
        if not response.ok:
            raise ServerError(
                f"{what}: HTTP {response.status}: {server_message(answer)}", status=response.status
            )
        if response.content_type != "application/json":
            return answer.decode(errors="replace")
        try:
            return exact_json.loads(answer)
        except orjson.JSONDecodeError as error:
            raise ServerError(f"{what}: the answer is not JSON: {error}") from None

    def _at(self, path: str) -> URL:
        """The URL of a path, with the query of the server's URL."""
        path, _, query = path.partition("?")
        whole = self._url.raw_path.rstrip("/") + path
        return self._url.with_path(whole, encoded=True, keep_query=True).extend_query(query)

    async def close(self) -> None:
        """Disconnect."""
        if self._http is not None:
            await self._http.close()


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait from `retry-after-ms`, or from `Retry-After`, which has seconds or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * unit)
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers["Retry-After"]).timestamp() - time.time())
    return None


def _lost_connection(error: Exception) -> str:
    return redact(f"no connection: {type(error).__name__}: {error}")
