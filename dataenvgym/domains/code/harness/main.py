"""The harness: forks the candidate, reads the tests, runs them, writes the results to stdout.

    stdin   messages: {"preamble", "code"}, {"nonce", "entry_point", "share", "seconds", "kinds"},
            then each test: a call as the candidate reads it, or the text of a program or doctest
    stdout  "ready", then a message for each test as it is done: the nonce, and a result

The candidate's process is forked before the second message is read, so it never held the tests or
the nonce. It has no file descriptor of ours, and other processes of the same user cannot debug or
read this one. Programs and doctests run in processes of their own, except the last one (`tester`).

The result of a call is `ANSWER` and the message that the candidate sent (see `answers.Answer`). Any
other result is `REPORT` and an `answers.Report`, which this process writes. An unfit test is one
that cannot be run this way. After the candidate is gone, one report says so and no more results
follow. If loading the code, or one test, takes longer than "seconds", the kernel ends this process
by SIGALRM.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from dataenvgym.domains.code.harness import answers, exceptions, pipes, plain
from dataenvgym.domains.code.harness.link import Candidate, GoneError
from dataenvgym.domains.code.harness.tester import report_apart, report_here

ANSWER = b"A"
REPORT = b"R"
_PR_SET_DUMPABLE = 4


def main() -> None:
    """Judge one solution, as the messages on stdin ask."""
    orders, out = os.dup(0), os.dup(1)
    # keep other processes of this user from reading this one's memory and files
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError("prctl(PR_SET_DUMPABLE) failed")
    # import nothing from the run's own folders: the candidate may write modules there
    program = os.path.dirname(getattr(sys.modules["__main__"], "__file__", ""))
    own = {os.path.realpath(place) for place in ("", program)}
    sys.path[:] = [place for place in sys.path if os.path.realpath(place) not in own]
    message = pipes.receive(orders)
    candidate = Candidate()
    os.write(out, b"ready\n")  # any failure from here on is caused by the candidate
    candidate.send(message)
    setup = plain.loads(pipes.receive(orders)) | plain.loads(message)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    for result in _results(candidate, orders, setup):
        pipes.send(out, setup["nonce"].encode() + result)
    os._exit(0)


def _results(candidate: Candidate, orders: int, setup: dict[str, Any]) -> Iterator[bytes]:
    """The results of the tests, in order."""
    try:
        signal.setitimer(signal.ITIMER_REAL, setup["seconds"])
        raised = answers.read_loaded(candidate.receive())  # no student's code has run by then
        if raised is not None:
            yield _report(unfit=f"the preamble fails: {raised.in_words()}")
            return
        if (raised := answers.read_loaded(candidate.receive())) is not None:
            raise GoneError(raised.in_words())
        last = len(setup["kinds"]) - 1
        for number, kind in enumerate(setup["kinds"]):
            signal.setitimer(signal.ITIMER_REAL, 0)  # the next test may take a while to arrive
            test = pipes.receive(orders)
            signal.setitimer(signal.ITIMER_REAL, setup["seconds"])
            yield _result(candidate, kind, test, setup, is_last=number == last)
    except GoneError as error:
        yield _report(gone=str(error) or candidate.end())
    except answers.OddError as error:
        yield _report(gone=str(error))
    except Exception as error:  # the message is nested too deeply or too long
        yield _report(gone=exceptions.in_short(error))


def _result(
    candidate: Candidate, kind: str, test: bytes, setup: dict[str, Any], *, is_last: bool
) -> bytes:
    if kind == "call":
        answer = candidate.ask(test)
        candidate.parsed(answer)  # here, where time and memory are bounded
        return ANSWER + answer
    code = plain.loads(test)
    run = _shared if setup["share"] else report_here if is_last else report_apart
    report = run(candidate, kind, code, setup)
    if report.gone is not None:
        raise GoneError(report.gone)
    return _report(**report.as_data())


def _shared(candidate: Candidate, kind: str, code: str, setup: dict[str, Any]) -> answers.Report:
    """A test that runs in the candidate's process; passed only if the nonce comes back.

    Only the failure in its report counts: the student's code may have written anything else that
    the report says about the test.
    """
    report = answers.read_report(candidate.ask(plain.dumps({"run": [kind, code]})))
    nonce = os.urandom(16)
    candidate.send(nonce)
    if candidate.receive() != nonce or report.unfit is not None or report.gone is not None:
        raise GoneError("it sent no report")
    return report


def _report(**told: Any) -> bytes:
    return REPORT + plain.dumps(told)
