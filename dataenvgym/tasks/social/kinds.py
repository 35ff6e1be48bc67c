"""The kinds of documents in a store (`dataenvgym.store`) for social simulation."""

from __future__ import annotations

from dataenvgym.store import Kind
from dataenvgym.tasks.social.episodes import Episode
from dataenvgym.tasks.social.profiles import Character, RelationshipProfile, Scene

CHARACTERS = Kind("characters", Character)
SCENES = Kind("scenes", Scene)
RELATIONSHIPS = Kind("relationships", RelationshipProfile)
EPISODES = Kind("episodes", Episode)
