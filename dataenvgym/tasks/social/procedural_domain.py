"""The domain of procedural scenes: it knows the gold replies, and judges records on its scenes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

from dataenvgym.records import (
    ChatDatum,
    Conversation,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.tasks.claims import claims_of
from dataenvgym.tasks.social.domain import SocialDomain
from dataenvgym.tasks.social.procedural import ProceduralScenes, operands_in

_LONG = re.compile(r"(?:^|\n\n)([^\n]+)\n\nYour goal: ([^\n]+)(?:\n|$)")


class ProceduralDomain(SocialDomain):
    """Scenes of a family, which it can play by itself, so that it judges records on them.

    Args:
        family: that the scenes belong to.
        options: those of `SocialDomain`.
    """
