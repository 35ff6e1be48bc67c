"""Pocket social: small scenes for a pocket student.

Situation and goal fit in one line, and the student writes one or two messages. There are 16 social
skills in 4 categories (see `procedural_skills`).
"""

from __future__ import annotations

from dataclasses import dataclass

from dataenvgym.domains.social.environment import PlayOptions
from dataenvgym.domains.social.procedural import TURN_LIMIT, ProceduralDomain, ProceduralScenes
from dataenvgym.domains.social.scene import Rules, TurnLimit
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import PocketOptions

POCKET_SOCIAL = ProceduralScenes("pocket_social", terse=True)
GREEDY = SamplingParameters(max_tokens=32)


@dataclass(frozen=True, kw_only=True)
class PocketSocialOptions(PocketOptions, PlayOptions):
    """Options of `PocketSocialTask`.

    Attributes:
        turn_limit: for all seats together.
        partner_sampling: how the speaker "speaker" draws its replies.
        sampling: how the student answers; the pocket student's longest message takes 14 tokens.
    """

    turn_limit: TurnLimit = TURN_LIMIT
    partner_sampling: SamplingParameters = GREEDY
    sampling: SamplingParameters = GREEDY
    student: str = "pocket-social-v1"


class PocketSocialTask(Task):
    """Pocket social: 16 skills of social life in small scenes; nothing to download."""

    name = "pocket_social"

    @takes(PocketSocialOptions)
    def __init__(self, options: PocketSocialOptions) -> None:
        rules = Rules(turn_limit=options.turn_limit)
        source = POCKET_SOCIAL.source(options.sizes, seed=options.seed)
        self.set_up(source, ProceduralDomain(POCKET_SOCIAL, rules, options), options)
