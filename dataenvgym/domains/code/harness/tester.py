"""Runs one test that is a program and returns an `answers.Report`.

Tests may be as untrusted as the code, e.g. written by a teacher. In the harness's own process, a
test could report the result of the next one. So it gets a process of its own, unless it is the last
test.
"""

from __future__ import annotations

import os
import signal
from typing import Any, NoReturn

from dataenvgym.domains.code.harness import answers, exceptions, pipes, plain, programs
from dataenvgym.domains.code.harness.link import Candidate, GoneError, UnfitError
from dataenvgym.domains.code.harness.proxies import Proxies


def report_apart(
    candidate: Candidate, kind: str, code: str, setup: dict[str, Any]
) -> answers.Report:
    """Run a test in a process of its own, which has only the candidate's pipes; return a report."""
    ours, theirs = os.pipe()
    if (tester := os.fork()) == 0:
        _report(theirs, candidate, kind, code, setup)
    os.close(theirs)
    try:
        report = answers.read_report(pipes.receive(ours))
    except (pipes.ClosedError, answers.OddError):
        report = answers.Report({"failure": "the test ended its own process"})
    os.close(ours)
    os.kill(tester, signal.SIGKILL)
    os.waitpid(tester, 0)
    return report


def _report(
    outbox: int, candidate: Candidate, kind: str, code: str, setup: dict[str, Any]
) -> NoReturn:
    try:
        pipes.keep_only(outbox, *candidate.descriptors)
        pipes.send(outbox, plain.dumps(_outcome(candidate, kind, code, setup)))
    finally:
        os._exit(0)


def report_here(
    candidate: Candidate, kind: str, code: str, setup: dict[str, Any]
) -> answers.Report:
    """Run a test in this process; return a report."""
    return answers.Report(_outcome(candidate, kind, code, setup))


def _outcome(candidate: Candidate, kind: str, code: str, setup: dict[str, Any]) -> dict[str, Any]:
    proxies = Proxies(candidate)
    try:
        report = _run(proxies, kind, code, setup)
        if candidate.trouble is not None:  # a bare `except` of the test may have swallowed it
            raise candidate.trouble
    except UnfitError as error:
        return {"unfit": str(error)}
    except GoneError as error:
        return {"gone": str(error)}
    except Exception as error:  # the message is nested too deeply or too long
        return {"gone": exceptions.in_short(error)}
    if report["failure"] is not None:
        report["failure"] = f"{report['failure']}\n{proxies.last_call}".strip()
        report["no_data"] = proxies.got_no_data
    return report


def _run(proxies: Proxies, kind: str, code: str, setup: dict[str, Any]) -> dict[str, Any]:
    try:
        namespace = proxies.namespace(code, kind, setup["preamble"], setup["entry_point"])
    except Exception as error:  # from the preamble; it has already run in the candidate's process
        return exceptions.failed(f"the preamble fails: {exceptions.in_short(error)}", error)
    return programs.run(kind, code, namespace)
