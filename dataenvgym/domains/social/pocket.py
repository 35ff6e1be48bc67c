"""Pocket social: small scenes for a pocket student.

Situation and goal fit in one line, and the student writes one or two messages. There are 16 social
skills in 4 categories (see `procedural_skills`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from dataenvgym.domains.social.procedural import ProceduralDomain, ProceduralScenes
from dataenvgym.domains.social.procedural_problem import TURN_LIMIT
from dataenvgym.domains.social.scene import Rules
from dataenvgym.domains.social.strategies import STRATEGY_SAMPLING, Role, Side, Strategies
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.tasks.base import Task, TaskOptions
from dataenvgym.tasks.prompt_template import INSTRUCTION

POCKET_SOCIAL = ProceduralScenes("pocket_social", terse=True)
STUDENT = "pocket-social-v1"
GREEDY = SamplingParameters(max_tokens=32)


class PocketSocialTask(Task):
    """Scenes of pocket social, with equal shares of the skills and scripted partners.

    Args:
        n_train, n_validation, n_test: number of scenes in each split.
        seed: selects the scenes. The published figures use the default.
        turn_limit: for all seats together.
        role, strategists, strategy_max_words, strategy_format, strategy_sampling: who writes
            strategies (see `strategies.Strategies`).
        partner_sampling: how the speaker "speaker" draws its replies.
        system_prompt, template: see `SocialDomain`.
        sampling: how the student answers; the pocket student's longest message takes 14 tokens.
        options: those of `Task`; `student` is "pocket-social-v1" by default.
    """

    name = "pocket_social"

    def __init__(
        self,
        *,
        n_train: int = 2000,
        n_validation: int = 400,
        n_test: int = 400,
        seed: int = 0,
        turn_limit: int = TURN_LIMIT,
        role: Role = "speaker",
        strategists: Sequence[Side] = (),
        strategy_max_words: int = 10,
        strategy_format: str = "Strategy: {strategy}",
        strategy_sampling: SamplingParameters = STRATEGY_SAMPLING,
        partner_sampling: SamplingParameters = GREEDY,
        system_prompt: str = "",
        template: str = INSTRUCTION,
        sampling: SamplingParameters = GREEDY,
        **options: Unpack[TaskOptions],
    ):
        source = POCKET_SOCIAL.source(
            n_train=n_train, n_validation=n_validation, n_test=n_test, seed=seed
        )
        strategies = Strategies(
            role,
            tuple(strategists),
            max_words=strategy_max_words,
            format=strategy_format,
            sampling=strategy_sampling,
        )
        strategies.warn_of_idle(options.get("others") or {}, "scripted")
        domain = ProceduralDomain(
            POCKET_SOCIAL,
            Rules(turn_limit=turn_limit),
            strategies=strategies,
            partner_sampling=partner_sampling,
            system_prompt=system_prompt,
            template=template,
        )
        options.setdefault("student", STUDENT)
        super().__init__(source, domain, sampling=sampling, **options)
