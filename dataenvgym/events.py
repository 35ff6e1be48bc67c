"""What belongs to an episode: its progress and warnings, its threads, and its secrets.

All are found through the context, so no object has to be passed around and several episodes can
live in one process.

- Progress ("50 of 57 training steps, loss 0.208"): working code calls `tell`, or counts with
  `counting`; a display enters `hearing_progress`.
- Warnings are facts that the user should know although nothing failed: an agent returned no
  records, a plan was cut to the budget. Any code may call `warn_run`. The runner receives the texts
  of its episode through `hearing_warnings`, shows them at once and saves them in the run directory.
- `ContextThreadPool`: threads that belong to the episode that started them, and end with it.
- Secrets: API keys and passwords stay out of files, logs and the terminal. Code that reads a key
  registers it with `keep_secret`, or a URL with `keep_secrets_of`. All output passes through
  `redact`: files of `storage`, the logs of a run, the teacher's transcript, the terminal. A
  server's answer is redacted on arrival, so a key that it repeats does not get into a record, and
  memory and files agree.

A secret belongs to the episode that registered it (`secrets_apart`), so that the files of an
episode do not depend on what else runs in the process. What is registered outside of any episode is
redacted everywhere, and the terminal shows none of all secrets. Values of fewer than 8 characters,
and values of fewer than 16 that are only letters or only digits, are not redacted, because they may
occur in ordinary text. `without_secrets`, for configurations, hides the password of a URL of any
length.
"""

from __future__ import annotations

import base64
import ctypes
import html
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import Any, Generic, TextIO, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from dataenvgym.errors import ConfigurationError, escaped

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Listeners(Generic[_T]):
    """Functions that hear the messages of their context: of their episode, and of no other.

    A thread that was started without its context (other than by `ContextThreadPool`) has no
    episode: all functions hear it, so that nothing is lost.
    """

    def __init__(self, name: str) -> None:
        self._here: ContextVar[tuple[Callable[[_T], None], ...]] = ContextVar(name, default=())
        self._all: tuple[Callable[[_T], None], ...] = ()
        self._lock = threading.Lock()

    def tell(self, message: _T) -> bool:
        """Pass a message on; False if there is no listener."""
        listeners = self._here.get() or self._all
        for hear in listeners:
            hear(message)
        return bool(listeners)

    @contextmanager
    def added(self, hear: Callable[[_T], None]) -> Iterator[None]:
        """Pass the messages of this context to `hear` until the block ends."""
        with self._lock:
            self._all = (*self._all, hear)
        token = self._here.set((*self._here.get(), hear))
        try:
            yield
        finally:
            self._here.reset(token)
            with self._lock:
                left = list(self._all)
                left.remove(hear)
                self._all = tuple(left)


class ProgressMessage(str):
    """A short progress message.

    Attributes:
        done, total: the numbers of a count; None without a count.
        skipped: the part of `done` that existed before, and took no time.
    """

    done: int | None = None
    total: int | None = None
    skipped: int = 0

    @classmethod
    def of(
        cls, text: str, done: int | None = None, total: int | None = None, skipped: int = 0
    ) -> ProgressMessage:
        """A message with these attributes."""
        message = cls(text)
        message.done, message.total, message.skipped = done, total, skipped
        return message


_progress: Listeners[ProgressMessage] = Listeners("progress")


def tell(text: str, *, done: int | None = None, total: int | None = None, skipped: int = 0) -> None:
    """Send a short progress message."""
    message = ProgressMessage.of(text, done, total, skipped)
    # counts are too many for a log
    _log.log(logging.INFO if total is None else logging.DEBUG, message)
    _progress.tell(message)


class Count:
    """Counts to `total`, and sends its count with those of the counters around it; thread-safe.

    The numbers of a message are those of the outermost counter that has begun.
    """

    def __init__(self, what: str, total: int, around: Count | None) -> None:
        self.what = what
        self.total = total
        self.around = around
        self._done = 0
        self._skipped = 0
        self._note = ""
        self._lock = threading.Lock()

    def add(self, n: int = 1, note: str = "") -> None:
        """Count `n` more.

        Args:
            note: a further text, such as "loss 0.208".
        """
        with self._lock:
            self._done += n
            self._note = note
        self.tell()

    def skip(self, n: int) -> None:
        """Count `n` that existed before: they are done, but do not count for the pace."""
        with self._lock:
            self._done += n
            self._skipped += n
        if n:
            self.tell()

    def reach(self, done: int) -> None:
        """Count up to `done` in all; numbers that others counted here are included."""
        with self._lock:
            missing = done - self._done
            self._done += max(0, missing)
        if missing > 0:
            self.tell()

    def tell(self) -> None:
        """Send the progress, unless a single thing is counted within another count."""
        if self.around is None or self.total > 1:
            counts = [*self._from_outermost()]
            begun = next((count for count in counts if count._done), self)
            text = ", ".join(map(str, counts))
            tell(text, done=begun._done, total=begun.total, skipped=begun._skipped)

    def __str__(self) -> str:
        note = f", {self._note}" if self._note else ""
        return f"{self._done} of {self.total} {self.what}{note}"

    def _from_outermost(self) -> Iterator[Count]:
        if self.around is not None:
            yield from self.around._from_outermost()
        yield self


_innermost: ContextVar[Count | None] = ContextVar("counter", default=None)


@contextmanager
def counting(what: str, total: int) -> Iterator[Count]:
    """Make a counter of `what` (a plural) until the block ends.

    Within a block that counts the same, this is that block's counter, so parts need not know the
    total.
    """
    around = counter = _innermost.get()
    while counter is not None and counter.what != what:
        counter = counter.around
    if counter is not None:
        yield counter
        return
    counter = Count(what, total, around)
    counter.tell()
    token = _innermost.set(counter)
    try:
        yield counter
    finally:
        _innermost.reset(token)


def hearing_progress(hear: Callable[[ProgressMessage], None]) -> AbstractContextManager[None]:
    """Pass the messages of this context, from any thread, to `hear` until the block ends."""
    return _progress.added(hear)


_warnings: Listeners[str] = Listeners("run_warnings")


def warn_run(text: str) -> None:
    """Warn the user of the current run: say what happened, with numbers, and what to do.

    Control characters and lone surrogates are escaped. The runner adds the iteration, and keeps
    the same text once per iteration.
    """
    text = escaped(text)
    # without any handler, logging would write it to the terminal, also if a display does
    if not _warnings.tell(text) or _log.hasHandlers():
        _log.warning("%s", text)


def hearing_warnings(hear: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass the warnings of this context, from any thread, to `hear` until the block ends."""
    return _warnings.added(hear)


_CANCELLED: ContextVar[tuple[threading.Event, ...]] = ContextVar("cancelled", default=())


_STARTING = threading.Lock()
"""Held while a pool starts a thread, which until then has the number of the one that starts it."""


class CancelledTask(BaseException):
    """Ends a task of a cancelled pool.

    Like a KeyboardInterrupt it is not an `Exception`: it must not be recorded as a failure.
    """


def raise_if_cancelled() -> None:
    """Called by long computations at each step.

    Raises:
        CancelledTask: in a task of a pool that was cancelled, or whose own pool is in such a task.
    """
    if any(cancelled.is_set() for cancelled in _CANCELLED.get()):
        raise CancelledTask


def interrupt(threads: Iterable[int]) -> None:
    """Raise KeyboardInterrupt in these threads, as Ctrl-C does in the main thread."""
    with _STARTING:
        for ident in list(threads):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt)
            )


class ContextThreadPool(ThreadPoolExecutor):
    """A pool whose tasks run in the context of their `submit`.

    So what they say (`progress`, `run_warnings`) is heard by their episode, and what they write is
    redacted as in their episode (`secrets`).

    An exception that leaves the pool's block (Ctrl-C, above all) cancels the pool, as does
    `shutdown` with `cancel_futures`: waiting tasks never start, and running ones end at their next
    `raise_if_cancelled`.
    """

    def __init__(self, max_workers: int, thread_name_prefix: str = "") -> None:
        super().__init__(max_workers, thread_name_prefix)
        self._cancelled = threading.Event()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise_if_cancelled()
        context = copy_context()
        context.run(_CANCELLED.set, (*_CANCELLED.get(), self._cancelled))
        with _STARTING:
            return super().submit(context.run, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            self._cancelled.set()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown(cancel_futures=kind is not None)


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


_secrets_lock = threading.Lock()
_all, _common = _Secrets(), _Secrets()
_apart: list[_Secrets] = []
_own: ContextVar[_Secrets | None] = ContextVar("secrets", default=None)


@contextmanager
def secrets_apart() -> Iterator[None]:
    """Keep the secrets registered in the block for its context, an episode's.

    Within such a block it changes nothing.
    """
    if _own.get() is not None:
        yield
        return
    with _secrets_lock:
        own = _Secrets(_common.texts)
        _apart.append(own)
    token = _own.set(own)
    try:
        yield
    finally:
        _own.reset(token)
        with _secrets_lock:
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
    with _secrets_lock:
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


def secrets_are_known() -> bool:
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
        return redact(_shown_url(value) if _URL.fullmatch(value) else value)
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


def _shown_url(url: str) -> str:
    keep_secrets_of(url)

    def hidden(match: re.Match[str]) -> str:
        name, colon, _ = match[0].partition(":")
        return f"{name}:{REDACTED}" if colon else REDACTED

    return _QUERY.sub(rf"\1{REDACTED}", _USER.sub(hidden, url))
