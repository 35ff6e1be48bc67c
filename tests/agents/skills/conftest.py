"""A teacher in memory that labels pocket math by keywords, or gives fixed answers."""

import json
import re
from collections.abc import Callable

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask, recognize
from dataenvgym.interfaces import Failure
from tests.fakes import Teacher

Answer = Callable[[str], str | None]


class KeywordTeacher(Teacher):
    """Reads the two prompts of skill discovery and answers them.

    It names skills by symbol and phrasing, three synonyms for each of pocket math's skills, and
    merges what has the same symbol.

    Args:
        distort: a function that changes each answer; None fails the call.
    """

    def __init__(self, distort=lambda text: text, **options):
        super().__init__(self._say, **options)
        self.distort = distort

    def _say(self, text, sampling):
        assert sampling.json_schema is not None
        answer = self._labels(text) if "Name the one skill" in text else self._groups(text)
        distorted = self.distort(json.dumps(answer))
        return Failure(reason="500") if distorted is None else distorted

    def _labels(self, text: str) -> object:
        found = re.findall(r"^(\d+)\. (.*)$", text, flags=re.MULTILINE)
        return {"labels": [{"number": int(n), "skill": named(q)} for n, q in found]}

    def _groups(self, text: str) -> object:
        lines = [line for line in text.splitlines() if line.startswith("do ")]
        groups: dict[str, list[str]] = {}
        for line in lines:
            groups.setdefault(line.split()[1], []).append(line)
        return {"categories": [{"category": f"do {k}", "skills": v} for k, v in groups.items()]}


def named(question: str) -> str:
    """ "Do_<symbol>_way_<phrasing>" of a pocket problem; "do other" of any other."""
    if (found := recognize(question)) is None:
        return "do other"
    skill, phrasing = found
    return f"Do_{skill.symbol}_way_{skill.phrasings.index(phrasing)}"


@pytest.fixture
def task():
    return PocketMathTask(n_train=40, n_validation=120, n_test=40)
