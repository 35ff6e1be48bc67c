from dataenvgym.domains.code.sandboxed_tests import NOT_RUN
from dataenvgym.sandbox import Limits

from .problems import passed


def test_stdin_cases_are_runs_of_their_own(judged, box):
    cases = [{"kind": "stdio", "input": f"{n}\n", "output": f"{n + 1}\n"} for n in (1, 2, 3)]
    code = "n = int(input())\nif n == 2:\n    raise ValueError('zwei')\nprint(n + 1)\n"
    verdict = judged(code, box, public=cases[:1], hidden=cases[1:])
    assert passed(verdict) == [True, False, True]
    assert "failed: ValueError: zwei" in verdict.results[1].message
    slow = "n = int(input())\nwhile n == 2:\n    pass\nprint(n + 1)\n"
    verdict = judged(slow, box, hidden=cases, limits=Limits(seconds=0.5))
    assert [r.message[-15:] for r in verdict.results] == ["", "ran out of time", NOT_RUN]


def test_a_preamble_comes_after_imports_from_the_future(judged, box):
    code = '"""Ours."""\nfrom __future__ import annotations\n\nprint(ONE, __doc__)\n'
    case = {"kind": "stdio", "input": "", "output": "1 Ours."}
    assert judged(code, box, preamble="ONE = 1", hidden=[case]).passed
    spoken = "from os import path  # __future__\nprint(ONE, 'Ours.')"
    assert judged(spoken, box, preamble="ONE = 1", hidden=[case]).passed
