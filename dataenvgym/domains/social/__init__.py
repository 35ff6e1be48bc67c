"""The domain of social simulation: characters with goals and secrets talk in a scene.

`profiles` has the characters and the scenes, `collection` all of them together, `loaders` selects
what is played, and `sotopia_dump` reads and writes them in Sotopia's JSON. A scene in progress is a
value (`scene`); a seat reads it as text (`prompts`) and writes an action (`actions`), which may be
an offer or an answer (`bargaining`). Rules or judges score it (`scores`, `evaluators`).

`environment` plays a scene from the student's seat, `aec` from all seats. `domain` says how scenes
are posed, judged and taught; `task` and `pocket` are the tasks, `evaluation` is `dataenvgym eval`.
"""

from dataenvgym.domains.social.collection import (
    Profiles,
    keep_profiles,
    read_profiles,
    shipped_profiles,
    write_profiles,
)
from dataenvgym.domains.social.environment import SocialEnvironment
from dataenvgym.domains.social.loaders import casts
from dataenvgym.domains.social.scene import Rules
from dataenvgym.domains.social.sotopia_dump import read_sotopia, write_sotopia
from dataenvgym.domains.social.task import SocialTask

__all__ = [
    "Profiles",
    "Rules",
    "SocialEnvironment",
    "SocialTask",
    "casts",
    "keep_profiles",
    "read_profiles",
    "read_sotopia",
    "shipped_profiles",
    "write_profiles",
    "write_sotopia",
]
