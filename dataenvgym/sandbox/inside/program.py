"""The main process of a run: from the last thing that is ours to the untrusted program's end."""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import socket
import struct
import sys
import types
from typing import NoReturn

from . import kernel
from .places import MAIN, WORK

Streams = tuple[int, int, int]
"""The run's ends of stdin, stdout and stderr."""


def become_program(
    owner: socket.socket, streams: Streams, rlimits: dict[str, int], rules: bytes
) -> NoReturn:
    """Give up all powers, take a request from the owner, and be the program that it names."""
    _disarm(owner, streams, rlimits, rules)
    command, source = _request(owner)
    owner.close()
    if command:
        _become(command)
    _run_python(source)


def _disarm(owner: socket.socket, streams: Streams, rlimits: dict[str, int], rules: bytes) -> None:
    """Give up every power and descriptor but the owner's socket, before anything is read."""
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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.drop_powers(visible=True)
    if rules:
        kernel.refuse_calls(rules)


def _request(owner: socket.socket) -> tuple[list[str], bytes]:
    """Take the request and write its files; the command, and the source of the program."""
    header = json.loads(_receive(owner, struct.unpack("<I", _receive(owner, 4))[0]))
    source = _receive(owner, header["source"])
    for path, length in header["files"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            while length:
                chunk = _receive(owner, min(length, 1 << 16))
                length -= file.write(chunk)
    if not header["command"]:
        with open(MAIN, "wb") as file:
            file.write(source)
    return header["command"], source


def _receive(owner: socket.socket, length: int) -> bytes:
    """So many bytes; if they do not come, the owner is gone, or has no use for this run."""
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
    """What `python main.py` does with a fresh `__main__`, from its first line to its exit code."""
    leave = os._exit
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=MAIN, __builtins__=sys.modules["builtins"])
    sys.modules["__main__"] = module
    sys.argv[:] = sys.orig_argv[1:] = [MAIN]
    sys.path.insert(0, WORK)
    code = 0
    try:
        exec(compile(source, MAIN, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as stop:
        code = _exit_code(stop)
    except BaseException as error:
        code = 1
        inside = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(inside), inside)
    leave(_finish(code))


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    sys.stderr.write(f"{stop.code}\n")
    return 1


def _finish(code: int) -> int:
    """Wait for threads, run what was left for the end, and write out what is still buffered."""
    if (threading := sys.modules.get("threading")) is not None:
        threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code or 120  # as the interpreter itself does
    return code
