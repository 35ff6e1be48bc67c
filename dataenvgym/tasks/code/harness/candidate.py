"""The process of the student's code: it is called by messages, and answers with plain data.

    {"preamble", "code"}             -> {} or {"raised"}, once
    {"call": name, "args", "kwargs"} -> {"value", "changed", "printed"} or {"raised", "printed"}
    {"run": [kind, code]}            -> {"failure"}, where tests share this process

Here nothing can be trusted once the student's code has run. All that this process can do is to
give wrong answers.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
import traceback
import types
from typing import Any, NoReturn

from dataenvgym.tasks.code.harness import pipes, plain, programs

MODULE = "solution"
_MOST_PRINTED = 65536
_MUTABLE = (list, dict, set, bytearray)


def serve(inbox: int, outbox: int) -> NoReturn:
    """Load the code of the first message and answer calls until nobody asks; never returns."""
    status = 1
    try:
        _seal(inbox, outbox)
        module = types.ModuleType(MODULE)
        sys.modules[MODULE] = module
        sys.path.insert(0, os.getcwd())
        sys.argv = [MODULE]
        setup = plain.loads(pipes.receive(inbox))
        pipes.send(outbox, plain.dumps(_loaded(module, setup)))
        while True:
            _answer(module, plain.loads(pipes.receive(inbox)), inbox, outbox)
    except pipes.ClosedError:
        status = 0
    finally:
        os._exit(status)


def _seal(inbox: int, outbox: int) -> None:
    """Leave no file descriptor open but the two, and nothing to read from or write to."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    low, high = sorted((inbox, outbox))
    for first, last in ((3, low), (low + 1, high), (high + 1, max(high + 1, 4096))):
        os.closerange(first, last)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = _printer(_Sink())


def _loaded(module: types.ModuleType, setup: dict[str, Any]) -> dict[str, Any]:
    """Run the preamble and the code as the module; what was raised, if anything."""
    try:
        exec(compile(setup["preamble"], "<preamble>", "exec", dont_inherit=True), module.__dict__)
        exec(compile(setup["code"], f"{MODULE}.py", "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        return {"raised": _raised(error)}
    return {}


def _answer(module: types.ModuleType, order: dict[str, Any], inbox: int, outbox: int) -> None:
    if "call" in order:
        pipes.send(outbox, _called(module, order))
        return
    kind, code = order["run"]
    try:
        failure = programs.run(kind, code, dict(module.__dict__, __name__="__main__"))
    except BaseException as error:
        failure = f"{type(error).__name__} ended the test"
    pipes.send(outbox, plain.dumps({"failure": failure}))
    nonce = pipes.receive(inbox)  # comes only now: no code that ran before has seen it
    pipes.send(outbox, nonce)


def _called(module: types.ModuleType, order: dict[str, Any]) -> bytes:
    sink = _Sink()
    sys.stdout = _printer(sink)
    try:
        value = _find(module, order["call"])(*order["args"], **order["kwargs"])
        changed = [[i, a] for i, a in enumerate(order["args"]) if isinstance(a, _MUTABLE)]
        return plain.dumps({"value": value, "changed": changed, "printed": _printed(sink)})
    except plain.NotPlainError as error:
        return plain.dumps({"raised": ["TypeError", f"it returned {error}", 0]})
    except BaseException as error:
        return plain.dumps({"raised": _raised(error), "printed": _printed(sink)})


def _printed(sink: _Sink) -> str:
    try:
        sys.stdout.flush()
    except Exception:
        return ""  # the code has put something else in its place
    return sink.kept.decode("utf-8", "replace")


def _find(module: types.ModuleType, name: str) -> Any:
    """The function of that name: the module's, or that of a new `Solution` (or `Class.name`)."""
    owner, _, method = name.rpartition(".")
    if owner:
        return getattr(getattr(module, owner)(), method)
    if not hasattr(module, name) and hasattr(getattr(module, "Solution", None), name):
        return getattr(module.Solution(), name)
    if not hasattr(module, name):
        raise NameError(f"name {name!r} is not defined")
    return getattr(module, name)


def _raised(error: BaseException) -> list[Any]:
    """The builtin class that it derives from, its message, and the line of the student's code."""
    name = next(c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c)
    lines = [
        number
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == f"{MODULE}.py"
    ]
    if isinstance(error, SyntaxError) and error.filename == f"{MODULE}.py":
        lines.append(error.lineno or 0)
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:
        message = ""
    if name != type(error).__name__:
        message = f"{type(error).__name__}: {message}"
    return [name, message[:2000], lines[-1] if lines else 0]


class _Sink(io.RawIOBase):
    """Keeps the beginning of what is written."""

    def __init__(self) -> None:
        self.kept = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.kept += bytes(data[: max(0, _MOST_PRINTED - len(self.kept))])
        return len(data)


def _printer(sink: _Sink) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(sink), "utf-8", "backslashreplace", "\n", write_through=True
    )
