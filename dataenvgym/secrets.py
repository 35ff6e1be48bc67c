"""Keeps API keys and passwords out of files, logs and the terminal.

Code that reads a key registers it with `keep_secret`, or a URL with `keep_secrets_of`. All output
passes through `redact`: files of `storage`, the logs of a run, the teacher's transcript, the
terminal. A server's answer is redacted on arrival, so a key that it repeats does not get into a
record, and memory and files agree.

A secret belongs to the episode that registered it (`apart`), so that the files of an episode do not
depend on what else runs in the process. What is registered outside of any episode is redacted
everywhere, and the terminal shows none of all secrets.

Values of fewer than 8 characters, and values of fewer than 16 that are only letters or only digits,
are not redacted, because they may occur in ordinary text. `without_secrets`, for configurations,
hides the password of a URL of any length.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from dataenvgym.errors import ConfigurationError

REDACTED = "REDACTED"

_SHORTEST, _SHORTEST_WORD = 8, 16
_NAMES = r"(?:[\w-]*(?:key|token|secret|password|passwd|pwd|sig|signature|credential|auth|code))"
_URL = re.compile(r"[a-zA-Z][\w+.-]{0,63}://[^\s'\"<>\[\]{},]+")
_USER = re.compile(r"(?<=://)(?:[^/?#\s@:]*:)?[^/?#\s@]*(?=@)")
_ESCAPED = re.compile("%[0-9A-F]{2}")
_VARIABLE = re.compile(r"(?:[_-]variable[=:]\s*|-variable )['\"]?([^\s'\",}]+)")
_QUERY = re.compile(rf"(?i)(?<=[?&])({_NAMES}=)[^&#\s]+")


class _Secrets:
    """Texts to redact, the longest first."""

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        self.texts: tuple[str, ...] = ()
        self.bytes: tuple[bytes, ...] = ()
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        self.texts = tuple(sorted({*self.texts, *texts}, key=len, reverse=True))
        self.bytes = tuple(text.encode("utf-8", "surrogatepass") for text in self.texts)

    def redact(self, text: str) -> str:
        for secret in self.texts:
            if secret in text:
                text = text.replace(secret, REDACTED)
        return text


_lock = threading.Lock()
_all, _common = _Secrets(), _Secrets()
_apart: list[_Secrets] = []
_own: ContextVar[_Secrets | None] = ContextVar("secrets", default=None)


@contextmanager
def apart() -> Iterator[None]:
    """Keep the secrets registered in the block for its context, an episode's.

    Within such a block it changes nothing.
    """
    if _own.get() is not None:
        yield
        return
    with _lock:
        own = _Secrets(_common.texts)
        _apart.append(own)
    token = _own.set(own)
    try:
        yield
    finally:
        _own.reset(token)
        with _lock:
            _apart.remove(own)


def keep_secret(value: str | None) -> None:
    """Redact `value` in all output of this context from now on, in all its usual spellings."""
    if value is None:
        return
    is_word = value.isalpha() or value.isdigit()
    if len(value) < (_SHORTEST_WORD if is_word else _SHORTEST):
        return
    own = _own.get()
    if value in (own or _common).texts:
        return
    spellings = _spellings(value)
    with _lock:
        for known in (_all, _common, *_apart) if own is None else (_all, own):
            known.add(spellings)


def keep_key(variable: str) -> bool:
    """Register the name of a variable if it may be the key itself; whether it may.

    It may if there is no such variable, and if it is not like the name of one.
    """
    is_name = re.fullmatch("[A-Z0-9]*_[A-Z0-9_]*|[A-Z0-9]{1,15}", variable) is not None
    if is_key := not is_name and variable not in os.environ:
        keep_secret(variable)
    return is_key


def checked_key(key: str, where: str) -> str:
    """The key without white space around it, such as the line break at the end of a file.

    Raises:
        ConfigurationError: if it has other characters that cannot be sent. It is not shown.
    """
    keep_secret(key)
    keep_secret(key := key.strip())
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"the key in {where} has a line break or another character that no key has, within its "
            f"{len(key)} characters: copy it again"
        )
    return key


def keep_secrets_of(text: str) -> None:
    """Register the users and passwords of the URLs in a text, and keys in their queries.

    So is what is given as the name of a variable, if it may be the key.
    """
    for name in _VARIABLE.findall(text):
        keep_key(name)
    for url in _URL.findall(text):
        try:
            parts = urlsplit(url)
        except ValueError:
            continue
        user, _, host = parts.netloc.rpartition("@")
        if host and user:
            name, colon, password = user.partition(":")
            secret = password if colon else name
            keep_secret(secret)
            keep_secret(unquote(secret))
            keep_secret(base64.b64encode(unquote(user).encode()).decode())  # as it is sent
        for name, value in parse_qsl(parts.query):
            if re.fullmatch(f"(?i){_NAMES}", name):
                keep_secret(value)


def are_known() -> bool:
    """True if there is anything to redact."""
    return bool((_own.get() or _all).texts)


def redact(text: str) -> str:
    """Replace each secret in the text by `REDACTED`."""
    return (_own.get() or _all).redact(text)


def redact_bytes(data: bytes) -> bytes:
    """The same for UTF-8 bytes."""
    for secret in (_own.get() or _all).bytes:
        if secret in data:
            data = data.replace(secret, REDACTED.encode())
    return data


def without_secrets(value: Any) -> Any:
    """Remove secrets from a JSON value; secrets in URLs are registered too."""
    if isinstance(value, str):
        return redact(_shown(value) if _URL.fullmatch(value) else value)
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and str(name).endswith("_variable"):
                keep_secrets_of(f"{name}={inner}")
        return {name: without_secrets(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return value


@contextmanager
def redacted_output() -> Iterator[None]:
    """Redact output to `sys.stdout` and `sys.stderr` until the block ends."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Redacting(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _Redacting:
    """A wrapper of a text stream that redacts everything written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(_all.redact(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _spellings(value: str) -> set[str]:
    """The secret, and its spellings in JSON (also nested), URLs, HTML and Python."""
    as_json = {json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
    nested = {json.dumps(text)[1:-1] for text in as_json}
    slashed = {text.replace("/", r"\/") for text in as_json}
    in_urls = {quote(value), quote(value, safe="")}
    in_urls |= {_ESCAPED.sub(lambda code: code[0].lower(), text) for text in in_urls}
    others = {html.escape(value), repr(value)[1:-1]}
    return {value, *as_json, *nested, *slashed, *in_urls, *others}


def _shown(url: str) -> str:
    keep_secrets_of(url)

    def hidden(match: re.Match[str]) -> str:
        name, colon, _ = match[0].partition(":")
        return f"{name}:{REDACTED}" if colon else REDACTED

    return _QUERY.sub(rf"\1{REDACTED}", _USER.sub(hidden, url))
