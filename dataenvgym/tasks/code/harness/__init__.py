"""The program that judges a solution inside the sandbox.

    judge's process | sandbox: harness ---- candidate
    (ours)          |   (trusted)     pipes  (a child that runs the student's code)

`main` is the harness: it forks the candidate's process before it has read the tests, then asks it
for results by pipes. What the candidate sends is plain data (`plain`): it cannot forge a verdict,
see the tests, or return an object that is equal to everything; and what has not the shape and
size that it should is a failed test (`answers`). For calls with expected values even
the comparing is done outside, by our process. A test that is a program runs in one more process,
forked for it alone, unless it is the last: it cannot speak for another test either.

What remains: the code can tell that it is being judged, and answer the very inputs it is given, or
stop its judge until the sandbox's own time limit ends both; a test can always pretend that it has
passed itself, as one without asserts does, so that tests from a doubtful source have to be tried
on wrong code, too; and where `tests_share_process` is set, code that knows this harness can answer
in its name (it is then one process that says that its own tests have passed). Reading this
process's memory is forbidden by the kernel (`PR_SET_DUMPABLE`), except to a superuser, which nobody
is in a sandbox of namespaces; the backend `unsafe_local`, run by root, keeps nothing from anybody.

The modules here run in the sandbox's Python, which may lack this package: they use the standard
library and each other, nothing else. `source` makes one program of them.
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

    It holds the modules as they are, and compiled for this interpreter, which saves most of the
    time that it takes to start where the sandbox has the same one.

    Args:
        doctests: whether it can run tests of kind "doctest"; takes longer to start.
    """
    at = _MODULES.index("programs") + 1
    names = (*_MODULES[:at], *(["doctests"] if doctests else []), *_MODULES[at:])
    folder = Path(__file__).parent
    sources = [(name, (folder / f"{name}.py").read_text("utf-8")) for name in names]
    compiled = [(name, compile(text, name, "exec", optimize=2)) for name, text in sources]
    return _BEGIN.format(
        package=_PACKAGE,
        sources=base64.b64encode(zlib.compress(json.dumps(sources).encode())),
        version=[sys.implementation.name, sys.hexversion],
        compiled=base64.b64encode(marshal.dumps(compiled)),
    )
