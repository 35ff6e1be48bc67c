"""The harness: forks the candidate, reads the tests, runs them, writes the results to stdout.

    stdin   two messages: {"preamble", "code"}, then {"nonce", "entry_point", "share", "tests"}
    stdout  "ready", then one line for each test as it is done: the nonce and a result

The candidate's process is forked in between, so that it never held the tests or the nonce; it has
no file descriptor of ours, and this process cannot be debugged or read by others of its user. A
test is [kind, code] or ["call", name, args, kwargs]. A result is {"failure": None or a text},
or for a call {"value"} or {"failure"}; {"unfit": text} says that the test itself cannot be run this
way. Once the candidate is gone there are no more results, but one {"gone": text}.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import importlib
import os
import reprlib
import sys
from typing import Any

from dataenvgym.tasks.code.harness import pipes, plain, programs
from dataenvgym.tasks.code.harness.link import Candidate, GoneError, UnfitError

_PR_SET_DUMPABLE = 4
_LONGEST = 300  # characters of a value that a message shows
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 8
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 50
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _LONGEST


def main() -> None:
    """Judge one solution, as stdin says."""
    out = os.dup(1)
    _hide()
    _import_only_the_standard_library()
    setup = pipes.receive(0)
    candidate = Candidate()
    os.write(out, b"ready\n")  # whatever goes wrong from here on is the candidate's doing
    candidate.send(setup)
    orders = plain.loads(pipes.receive(0)) | plain.loads(setup)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    mark = orders["nonce"].encode() + b" "
    try:
        for result in _results(candidate, orders):
            _write(out, mark + plain.dumps(result) + b"\n")
    except Exception as error:  # what it sent cannot be handled: nested too deeply, or too long
        _write(out, mark + plain.dumps({"gone": programs.in_short(error)}) + b"\n")
    os._exit(0)


def _hide() -> None:
    """Keep other processes of this user from reading this one's memory and files."""
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError("prctl(PR_SET_DUMPABLE) failed")


def _import_only_the_standard_library() -> None:
    """Import nothing from the working folder: the candidate may write modules into it."""
    homes = tuple({os.path.join(home, "") for home in (sys.prefix, sys.base_prefix)})
    sys.path[:] = [place for place in sys.path if place.startswith(homes)]


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def _results(candidate: Candidate, orders: dict[str, Any]) -> Any:
    """The results of the tests, in order."""
    try:
        loaded = candidate.receive()
        if "raised" in loaded:
            yield {"gone": _described(loaded["raised"])}
            return
        for test in orders["tests"]:
            try:
                yield _result(candidate, test, orders)
            except UnfitError as error:
                yield {"unfit": str(error)}
    except GoneError as error:
        yield {"gone": str(error)}


def _result(candidate: Candidate, test: list[Any], orders: dict[str, Any]) -> dict[str, Any]:
    kind, *rest = test
    if kind == "call":
        answer = candidate.ask(*rest)
        if "raised" in answer:
            return {"failure": _described(answer["raised"])}
        return {"value": answer["value"]}
    if orders["share"]:
        return _shared(candidate, test)
    (code,) = rest
    namespace = _namespace(candidate, code, kind, orders)
    candidate.last_call = ""
    failure = programs.run(kind, code, namespace)
    if candidate.trouble is not None:  # a bare `except` of the test may have swallowed it
        raise candidate.trouble
    return {"failure": failure and f"{failure}\n{candidate.last_call}".strip()}


def _shared(candidate: Candidate, test: list[Any]) -> dict[str, Any]:
    """A test that runs in the candidate's process; passed only if the nonce comes back."""
    candidate.send(plain.dumps({"run": test}))
    answer = candidate.receive()
    nonce = os.urandom(16)
    candidate.send(nonce)
    if candidate.receive_bytes() != nonce:
        raise GoneError("it sent no answer")
    failure = answer.get("failure", "it sent no answer")
    return {"failure": None if failure is None else str(failure)}


def _namespace(
    candidate: Candidate, code: str, kind: str, orders: dict[str, Any]
) -> dict[str, Any]:
    """What the tests see: the preamble's names, and a proxy for each name that is missing.

    A missing name that is a module of the standard library, and used like one, is that module.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(compile(orders["preamble"], "<preamble>", "exec", dont_inherit=True), namespace)
    except Exception as error:
        raise UnfitError(f"the preamble fails: {programs.in_short(error)}") from None
    missing, modules = _missing_names(code, kind)
    for name in missing - namespace.keys():
        is_module = name in modules and name in sys.stdlib_module_names
        namespace[name] = importlib.import_module(name) if is_module else _proxy(candidate, name)
    if orders["entry_point"]:
        namespace[orders["entry_point"]] = _proxy(candidate, orders["entry_point"])
    return namespace


def _missing_names(code: str, kind: str) -> tuple[set[str], set[str]]:
    """Names that the code reads and nowhere binds, and names with an attribute, as modules have.

    Raises:
        UnfitError: if it does not parse.
    """
    try:
        if kind == "doctest":
            from dataenvgym.tasks.code.harness.doctests import source_of

            code = source_of(code)
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError) as error:
        raise UnfitError(f"it is no Python: {error}") from None
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {n.id for n in names if not isinstance(n.ctx, ast.Load)} | set(dir(builtins))
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    attributes = [n.value for n in nodes if isinstance(n, ast.Attribute)]
    owners = {value.id for value in attributes if isinstance(value, ast.Name)}
    return {node.id for node in names} - bound, owners


def _proxy(candidate: Candidate, name: str) -> Any:
    """A function that stands for the student's one of that name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        shown = ", ".join([*map(_short, args), *(f"{k}={_short(v)}" for k, v in kwargs.items())])
        answer = candidate.ask(name, args, kwargs)
        sys.stdout.write(str(answer.get("printed", "")))
        if "raised" in answer:
            candidate.last_call = f"{name}({shown}) raised {_described(answer['raised'])}"
            raise _exception(answer["raised"])
        for place, value in answer.get("changed", ()):
            _put_back(args[place], value)
        candidate.last_call = f"{name}({shown}) gave {_short(answer['value'])}"
        return answer["value"]

    call.__name__ = call.__qualname__ = name
    return call


def _put_back(argument: Any, value: Any) -> None:
    """Change an argument in place as the candidate changed its copy."""
    if type(argument) is not type(value):
        return
    if isinstance(argument, list | bytearray):
        argument[:] = value
    elif isinstance(argument, dict | set):
        argument.clear()
        argument.update(value)


def _exception(raised: list[Any]) -> BaseException:
    """An exception of the builtin class that the candidate's one derives from.

    No StopIteration: in a test like `all(map(f, xs))` it would end the test as if all were well.
    """
    name, message, _ = raised
    kind = getattr(builtins, str(name), None)
    if isinstance(kind, type) and issubclass(kind, Exception) and kind is not StopIteration:
        try:
            return kind(message)
        except TypeError:  # it takes other arguments, as UnicodeDecodeError does
            pass
    return RuntimeError(f"{name}: {message}")


def _described(raised: Any) -> str:
    if not isinstance(raised, list) or len(raised) != 3:
        return "the program could not be loaded"
    name, message, line = raised
    at = f" (line {line})" if line else ""
    return f"{name}: {message}".rstrip(": ") + at


def _short(value: Any) -> str:
    try:
        text = _SHORT.repr(value)
    except ValueError:  # a number of more digits than Python shows
        return "..."
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
