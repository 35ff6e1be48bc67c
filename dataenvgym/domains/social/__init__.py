"""The domain of social simulation: characters with goals and secrets talk in a scene.

profiles           Character, Scene, RelationshipProfile; how one character sees another
collection         Profiles: characters, scenes and relationships together, from files or a store
scene_log          SceneLog: the log of a scene, and its scores
sotopia            the same in Sotopia's JSON; sotopia_dump reads and writes whole dumps
actions            the five kinds of action, read from text and written back
bargaining         the exact forms of offers and answers; the price and the trade agreed on
scene              Rules, and SceneState: a scene in progress, as a value
prompts            the text that each seat reads
phrases            finds phrases in messages
scripted_partners  negotiators of several temperaments, and villagers for small scenes
problem            a scene to be played from one seat, as the data of an instance
evaluators         judges score seven dimensions of a character, and name the turns that mattered
scores             the scores of a seat: by rule, or by judges
recording          stores the episodes and events of played scenes
strategies         advice before each turn, which only the advised seat sees
environment        Social-v0: the student's seat; models or scripts play the others
aec                SocialAECEnv: all seats, as a PettingZoo environment (the extra `pettingzoo`)
loaders            selects scenes, characters for their seats, and the seats of the student
domain             how scenes are posed, judged and taught; transcripts: as teachers read them
task               SocialTask
evaluation         `dataenvgym eval` of scenes; dimension_table has its rows and its table
procedural         generated small scenes, by skill (procedural_skills), as problems with the moves
                   of strategies (procedural_problem), and their domain
pocket             PocketSocialTask: these scenes, for a pocket student
content            the characters and scenes in the package
"""

from dataenvgym.domains.social.actions import (
    Action,
    ActionKind,
    InvalidActionText,
    read_action,
    write_action,
)
from dataenvgym.domains.social.collection import (
    Profiles,
    keep_profiles,
    profiles_in,
    read_profiles,
    shipped_profiles,
    write_profiles,
)
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.environment import SocialEnvironment
from dataenvgym.domains.social.loaders import casts, check_casts
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.domains.social.profiles import (
    AgeRange,
    Character,
    Deal,
    Goal,
    Hint,
    KeptSecret,
    Relationship,
    RelationshipProfile,
    RequiredUtterance,
    Scene,
    Swap,
    Thing,
    as_seen_by,
    as_seen_by_self,
)
from dataenvgym.domains.social.scene import Cast, Event, Rules, SceneState, rules_of
from dataenvgym.domains.social.scene_log import SceneLog, SeatScore, Utterance
from dataenvgym.domains.social.scripted_partners import TEMPERAMENTS, Negotiator, Temperament
from dataenvgym.domains.social.sotopia_dump import SotopiaDump, read_sotopia, write_sotopia
from dataenvgym.domains.social.strategies import Strategies
from dataenvgym.domains.social.task import SocialTask

__all__ = [
    "Action",
    "ActionKind",
    "AgeRange",
    "Cast",
    "Character",
    "Deal",
    "SceneLog",
    "Event",
    "Goal",
    "Hint",
    "InvalidActionText",
    "KeptSecret",
    "Negotiator",
    "Profiles",
    "Relationship",
    "RelationshipProfile",
    "RequiredUtterance",
    "Rules",
    "Scene",
    "SceneState",
    "SeatScore",
    "SocialDomain",
    "SocialEnvironment",
    "SocialProblem",
    "SocialTask",
    "SotopiaDump",
    "Strategies",
    "Swap",
    "TEMPERAMENTS",
    "Temperament",
    "Thing",
    "Utterance",
    "as_seen_by",
    "as_seen_by_self",
    "casts",
    "check_casts",
    "keep_profiles",
    "profiles_in",
    "read_action",
    "read_profiles",
    "read_sotopia",
    "rules_of",
    "shipped_profiles",
    "write_action",
    "write_profiles",
    "write_sotopia",
]
