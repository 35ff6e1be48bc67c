"""Pocket social: small scenes that a pocket student of its own takes part in.

A situation and a goal in one line, one to three messages of the student's: 16 skills of social life
in 4 categories (see `procedural`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.tasks.base import Task, TaskOptions
from dataenvgym.tasks.procedural import ProceduralSource
from dataenvgym.tasks.prompt_template import INSTRUCTION
from dataenvgym.tasks.social.procedural import ProceduralScenes
from dataenvgym.tasks.social.procedural_domain import ProceduralDomain
from dataenvgym.tasks.social.procedural_skills import SKILLS
from dataenvgym.tasks.social.strategies import STRATEGY_SAMPLING, Role, Side, Strategies

POCKET_SOCIAL = ProceduralScenes("pocket_social", terse=True)
STUDENT = "pocket-social-v1"
GREEDY = SamplingParameters(max_tokens=24)
