"""The result of judging: one for each test, and a verdict on all of them."""

from __future__ import annotations

from dataenvgym.errors import shorten
from dataenvgym.records import Model, Note
from dataenvgym.sandbox.interface import ExecutionResult, Limits

NOT_RUN = "not run"
_SHOWN = 500  # characters of a value or an output in a message
_ENDED = {
    "timeout": "ran out of time",
    "out_of_memory": "ran out of memory",
    "output_limit": "wrote too much output",
    "killed": "used more processes than it may",
}


class TestResult(Model):
    """Whether a test passed; if not, the reason, for readers who may see the test.

    Attributes:
        message: control characters and lone surrogates are escaped, because code may send any text.
        got: the solution's result in canonical form, if the test is a call or gives stdin.
        is_no_data: True if the solution returned an object that cannot be compared outside its
            process.
    """

    __test__ = False  # pytest should not collect it

    passed: bool
    message: Note = ""
    got: str | None = None
    is_no_data: bool = False


class CodeVerdict(Model):
    """The results of all tests, the public ones first."""

    results: tuple[TestResult, ...]
    n_public: int = 0

    @property
    def passed(self) -> bool:
        """Whether all tests passed."""
        return all(result.passed for result in self.results)

    @property
    def share(self) -> float:
        """The share of the tests that passed."""
        return sum(result.passed for result in self.results) / len(self.results)

    @property
    def public_failure(self) -> TestResult | None:
        """The first public test that failed."""
        return next((r for r in self.results[: self.n_public] if not r.passed), None)


def limits_with_room(limits: Limits, *, output: int, runs: int = 1, processes: int = 0) -> Limits:
    """Limits that are large enough for a right solution, whatever output is expected.

    Args:
        output: bytes of the expected output.
        runs: how many times `limits.seconds` the run may take.
        processes: how many run in addition to the solution's own.
    """
    room = {
        "seconds": min(runs * limits.seconds, 10**6),
        "processes": limits.processes + processes,
        "output": limits.output + output,
    }
    return limits.model_copy(update=room)


def how_it_ended(run: ExecutionResult) -> str:
    """How a failed run ended, as "it ...": the limit it hit, or its last line of output."""
    if run.status in _ENDED:
        return _ENDED[run.status]
    lines = run.stderr.decode(errors="replace").strip().splitlines()
    return f"failed: {lines[-1]}" if lines else f"ended with the code {run.return_code}"


def cut(text: str) -> str:
    """The beginning of a text, as messages show it."""
    return shorten(text.rstrip("\n"), _SHOWN)
