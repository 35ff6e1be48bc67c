"""The program that judges a solution inside the sandbox.

    judge's process | sandbox: harness ---- candidate
    (ours)          |   (trusted)     pipes  (a child that runs the student's code)

`main` is the harness. It forks the candidate's process before it reads the tests, then asks that
process for results through pipes. The candidate can send only plain data (`plain`): it cannot forge
a verdict, see the tests, or return an object that equals everything. A message of the wrong shape
or size is a failed test (`answers`). Results of calls with expected values are compared outside the
sandbox, in our process. A test that is a program runs in a process forked for it alone, unless it
is the last test, so that it cannot report the result of another test.

Known limits: Code can detect that it is being judged, and special-case the inputs it is given, or
block until the sandbox's time limit ends the run. A test can always pass whatever the code does, as
a test without asserts does; try tests from untrusted sources on wrong code, too. With
`tests_share_process`, code that knows this harness can report in its name that all tests passed.
The kernel keeps other processes from reading this process's memory (`PR_SET_DUMPABLE`), except
those of a superuser. A sandbox of namespaces has no superuser; the backend `unsafe_local`, run by
root, does not protect the memory.

The modules here run in the sandbox's Python, which may lack this package: they import only the
standard library and each other. `source` makes one program of them.
"""

from __future__ import annotations

import base64
import json
import marshal
import sys
import zlib
from functools import cache
from pathlib import Path

_PACKAGE = __name__
_MODULES = (
    *("plain", "pipes", "answers", "exceptions", "in_place", "programs"),
    *("candidate", "link", "proxies", "tester", "main"),
)
_BEGIN = """
import binascii, marshal, sys, types
_package = sys.modules[{package!r}] = types.ModuleType({package!r})
if [sys.implementation.name, sys.hexversion] == {version!r}:
    _modules = marshal.loads(binascii.a2b_base64({compiled!r}))
else:
    import json, zlib
    _modules = json.loads(zlib.decompress(binascii.a2b_base64({sources!r})))
for _name, _code in _modules:
    _module = sys.modules[{package!r} + "." + _name] = types.ModuleType(_name)
    setattr(_package, _name, _module)
    exec(compile(_code, _name, "exec") if isinstance(_code, str) else _code, _module.__dict__)
_package.main.main()
"""


@cache
def source(*, doctests: bool = False) -> str:
    """The harness as one Python program, which reads its orders from stdin.

    It contains the modules' source, and their code compiled for this interpreter. If the sandbox
    has the same interpreter, the compiled code saves most of the start time.

    Args:
        doctests: whether it can run tests of kind "doctest"; takes longer to start.
    """
    names = (*_MODULES, *(["doctests"] if doctests else []))
    folder = Path(__file__).parent
    sources = [(name, (folder / f"{name}.py").read_text("utf-8")) for name in names]
    compiled = [(name, compile(text, name, "exec", optimize=2)) for name, text in sources]
    return _BEGIN.format(
        package=_PACKAGE,
        sources=base64.b64encode(zlib.compress(json.dumps(sources).encode())),
        version=[sys.implementation.name, sys.hexversion],
        compiled=base64.b64encode(marshal.dumps(compiled)),
    )
