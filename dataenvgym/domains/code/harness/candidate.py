"""The process of the student's code: it receives calls as messages and answers with plain data.

    {"preamble", "code"}             -> {} or {"raised"} for the preamble, then for the code
    {"call": name, "args", "kwargs"} -> {"value"}, {"raised"} or {"no_data": why}
    {"run": [kind, code]}            -> a report (see `programs`), where tests share this process

The answer to a call with "from_test" also has "changed" (see `in_place`) and "printed". Random
bytes precede each order and are sent back before its answer, so an answer that was not asked for is
not accepted.

Nothing in this process can be trusted once the student's code has run. The worst that it can do is
to give wrong answers.
"""

from __future__ import annotations

import io
import os
import sys
import types
from typing import Any, NoReturn

from dataenvgym.domains.code.harness import exceptions, in_place, pipes, plain, programs

MODULE = "solution"
_FILE = f"{MODULE}.py"
_MOST_PRINTED = 65536


def serve(inbox: int, outbox: int) -> NoReturn:
    """Load the code of the first message and answer calls until the link ends; never returns."""
    status = 1
    try:
        _seal(inbox, outbox)
        module = types.ModuleType(MODULE)
        sys.modules[MODULE] = module
        sys.path.insert(0, os.getcwd())
        sys.argv = [MODULE]
        setup = plain.loads(pipes.receive(inbox))
        pipes.send(outbox, plain.dumps(_loaded(module, setup["preamble"], "<preamble>")))
        pipes.send(outbox, plain.dumps(_loaded(module, setup["code"], _FILE)))
        while True:
            _answer(module, inbox, outbox)
    except pipes.ClosedError:
        status = 0
    finally:
        os._exit(status)


def _seal(inbox: int, outbox: int) -> None:
    """Close all file descriptors except the two; stdin, stdout and stderr become empty."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    pipes.keep_only(inbox, outbox)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = _printer(_Sink())


def _loaded(module: types.ModuleType, code: str, file: str) -> dict[str, Any]:
    """Run code as part of the module; return its exception, or None."""
    try:
        exec(compile(code, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        return {"raised": exceptions.as_data(error, _FILE)}
    return {}


def _answer(module: types.ModuleType, inbox: int, outbox: int) -> None:
    message = pipes.receive(inbox)
    mark, order = message[: pipes.MARK], plain.loads(message[pipes.MARK :])
    if "call" in order:
        pipes.send(outbox, mark + _called(module, order))
        return
    kind, code = order["run"]
    try:
        report = programs.run(kind, code, dict(module.__dict__, __name__="__main__"))
    except BaseException as error:
        report = {"failure": f"{type(error).__name__} ended the test"}
    pipes.send(outbox, mark + plain.dumps(report))
    nonce = pipes.receive(inbox)  # sent only now: no code that ran before has seen it
    pipes.send(outbox, nonce)


def _called(module: types.ModuleType, order: dict[str, Any]) -> bytes:
    sink = _Sink()
    sys.stdout = _printer(sink)
    args, kwargs = order["args"], order["kwargs"]
    before = in_place.Before([args, kwargs]) if "from_test" in order else None

    def answer(**outcome: Any) -> bytes:
        if before is not None:
            outcome |= {"changed": before.changes(), "printed": _printed(sink)}
        return plain.dumps(outcome)

    try:
        try:
            return answer(value=_find(module, order["call"])(*args, **kwargs))
        except plain.NotPlainError:
            raise
        except BaseException as error:
            return answer(raised=exceptions.as_data(error, _FILE))
    except plain.NotPlainError as error:
        return plain.dumps({"no_data": str(error)})


def _printed(sink: _Sink) -> str:
    try:
        sys.stdout.flush()
    except Exception:
        return ""  # the code replaced it with something else
    return sink.kept.decode("utf-8", "replace")


def _find(module: types.ModuleType, name: str) -> Any:
    """The function of that name: that of a new `Solution`, or the module's (or `Class.name`).

    A `Solution` comes first, because the module may have the name from an `import *`.
    """
    owner, _, method = name.rpartition(".")
    if owner:
        return getattr(getattr(module, owner)(), method)
    if hasattr(getattr(module, "Solution", None), name):
        return getattr(module.Solution(), name)
    if not hasattr(module, name):
        raise NameError(f"name {name!r} is not defined")
    return getattr(module, name)


class _Sink(io.RawIOBase):
    """Keeps the beginning of the output."""

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
