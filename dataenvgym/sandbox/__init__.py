"""Runs untrusted code and reports its result.

    from dataenvgym.sandbox import Limits, open_sandbox

    with open_sandbox() as box:
        result = box.run("print(6 * 7)", limits=Limits(seconds=3))

`interface` has the contract: `Sandbox`, `Limits`, `ExecutionResult`. `open_sandbox` opens a
backend: `bubblewrap`, which runs code in namespaces, or, by explicit choice only, `unsafe_local`.
`docs/code.md` lists the attacks that it withstands, and those that it does not.
"""

from dataenvgym.sandbox.interface import DEFAULT_LIMITS, ExecutionResult, Limits, Sandbox, Status
from dataenvgym.sandbox.opening import BACKENDS, open_sandbox

__all__ = [
    "BACKENDS",
    "DEFAULT_LIMITS",
    "ExecutionResult",
    "Limits",
    "Sandbox",
    "Status",
    "open_sandbox",
]
