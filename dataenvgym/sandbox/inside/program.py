"""The main process of a run: from the last of our own code to the untrusted program's end."""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import signal
import socket
import struct
import sys
import types
from collections.abc import Iterable
from typing import NoReturn

from . import kernel
from .places import COMMON_MODULES, MAIN, WORK

_STACK = 8 * 2**20  # the usual size; a program may raise it
Streams = tuple[int, int, int]
"""The run's ends of stdin, stdout and stderr."""


def become_program(
    owner: socket.socket, streams: Streams, rlimits: dict[str, int], rules: bytes
) -> NoReturn:
    """Drop all privileges, take a request from the owner, and become the requested program."""
    _disarm(owner, streams, rlimits, rules)
    try:
        command, source = _request(owner)
    except MemoryError:  # the program alone is larger than the run's memory
        os.write(2, b"MemoryError\n")
        os._exit(1)
    owner.close()
    if command:
        _become(command)
    _run_python(source)


def _disarm(owner: socket.socket, streams: Streams, rlimits: dict[str, int], rules: bytes) -> None:
    """Drop all privileges and all descriptors except the owner's socket, before reading anything.

    The run gets a session of its own, so that signals to its process group reach no zygote and no
    later run. The kernel may also divide the processor by sessions (autogroup); then a fork bomb
    cannot delay process 1, which ends it.
    """
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, owner.fileno())
    os.closerange(owner.fileno() + 1, 1 << 16)
    os.chdir(WORK)
    for limit, amount in rlimits.items():
        number = getattr(resource, limit)
        hard = resource.getrlimit(number)[1]
        amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(number, (amount, amount))
    resource.setrlimit(
        resource.RLIMIT_STACK, (_STACK, resource.getrlimit(resource.RLIMIT_STACK)[1])
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.drop_powers(visible=True)
    if rules:
        kernel.refuse_calls(rules)


def _request(owner: socket.socket) -> tuple[list[str], bytes]:
    """Take the request and write its files; return the command, and the program's source."""
    header = json.loads(_receive(owner, struct.unpack("<I", _receive(owner, 4))[0]))
    try:
        source = _receive(owner, header["source"])
    except MemoryError:  # nothing was taken yet; the owner still wants to send all of it
        rest = header["source"] + sum(length for _, length in header["files"])
        while rest:
            rest -= len(_receive(owner, min(rest, 1 << 16)))
        raise
    for path, length in header["files"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            while length:
                chunk = _receive(owner, min(length, 1 << 16))
                length -= file.write(chunk)
    if not header["command"]:
        with open(MAIN, "wb") as file:
            file.write(source)
        _forget(os.path.relpath(path, WORK) for path, _ in header["files"])
    return header["command"], source


def _forget(paths: Iterable[str]) -> None:
    """Let files of the run be imported instead of modules of the same names that we imported."""
    own = {path.partition("/")[0].removesuffix(".py") for path in paths}
    for name in own.intersection(COMMON_MODULES.split()):
        for module in [m for m in sys.modules if m.partition(".")[0] == name]:
            del sys.modules[module]


def _receive(owner: socket.socket, length: int) -> bytes:
    """Read so many bytes; if they do not come, the owner is gone or does not need this run."""
    got = owner.recv(length, socket.MSG_WAITALL) if length else b""
    if len(got) < length:
        os._exit(0)
    return got


def _become(command: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _run_python(source: bytes) -> NoReturn:
    """Do what `python main.py` does with a new `__main__`, from its first line to its exit code."""
    leave = os._exit
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __file__=MAIN, __builtins__=sys.modules["builtins"], __cached__=None, __annotations__={}
    )
    sys.modules["__main__"] = module
    sys.argv[:] = sys.orig_argv[1:] = [MAIN]
    sys.path.insert(0, WORK)
    code = 0
    try:
        exec(compile(source, MAIN, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as stop:
        code = _exit_code(stop)
    except BaseException as error:
        code = _uncaught(error)
    leave(_finish(code, module))


def _uncaught(error: BaseException) -> int:
    """Show an uncaught exception; return the exit code."""
    error = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as stop:
        return _exit_code(stop)
    except BaseException as another:
        another = another.with_traceback(another.__traceback__ and another.__traceback__.tb_next)
        another.__context__ = None if another.__context__ is error else another.__context__
        for title, shown in (
            ("Error in sys.excepthook:", another),
            ("\nOriginal exception was:", error),
        ):
            _complain(title)
            sys.__excepthook__(type(shown), shown, shown.__traceback__)
    return 1


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF if -(2**63) <= stop.code < 2**63 else 0xFF  # a C long
    _complain(str(stop.code))
    return 1


def _complain(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")


def _finish(code: int, module: types.ModuleType) -> int:
    """Wait for threads, run exit functions, clear the module, write buffered output."""
    if (threading := sys.modules.get("threading")) is not None:
        threading._shutdown()
    atexit._run_exitfuncs()
    code = code or _flush()
    for name in module.__dict__:
        if name != "__builtins__":
            module.__dict__[name] = None  # files are written out, and `__del__` is called
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    gc.collect()
    _flush()
    return code


def _flush() -> int:
    """0, or 120, as in the interpreter, if buffered output cannot be written."""
    failed = 0
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except Exception:
            failed = 120
    return failed
