"""The pocket families that the pocket student knows, and the skills that they have between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataenvgym.tasks.code.pocket import POCKET_CODE
from dataenvgym.tasks.math.pocket import POCKET_MATH
from dataenvgym.tasks.pocket import Exercise, PocketFamily

FAMILIES: tuple[PocketFamily[Any], ...] = (POCKET_MATH, POCKET_CODE)
FAMILY_OF: Mapping[str, PocketFamily[Any]] = {
    skill: family for family in FAMILIES for skill in family.phrasings
}
"""Every skill, and the family that it belongs to; no two have the same name."""


def read_exercise(question: str) -> Exercise | None:
    """The exercise of any family that a question in plain words puts, or None."""
    return next((e for family in FAMILIES if (e := family.read(question)) is not None), None)
