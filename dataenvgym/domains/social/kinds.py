"""The kinds of documents in a store (`dataenvgym.store`) for social simulation."""

from __future__ import annotations

from dataenvgym.domains.social.episodes import Episode
from dataenvgym.domains.social.profiles import Character, RelationshipProfile, Scene
from dataenvgym.store import Kind

CHARACTERS = Kind("characters", Character)
SCENES = Kind("scenes", Scene)
RELATIONSHIPS = Kind("relationships", RelationshipProfile)
EPISODES = Kind("episodes", Episode)
