"""The domain of social simulation: characters with goals and secrets talk in a scene.

profiles       Character, Scene, RelationshipProfile; how one character sees another
collection     Profiles: characters, scenes and relationships together, from files or a store
casting        chooses characters for the seats of a scene
episodes       Episode: the log of a scene, and its scores
kinds          the kinds of documents in a store
sotopia        the same in Sotopia's JSON; sotopia_dump reads and writes whole dumps
parsing        entries of files; refused ones are named
actions        the five kinds of action, read from text and written back
turns          whose turn it is, and when a scene ends
scene          SceneState: a scene in progress, as a value
views          the text that each seat reads
deals          prices that two seats name and agree on
swaps          trades of things, one for one
partners       scripted negotiators of several temperaments
villagers      scripted partners of small scenes
problem        a scene to be played from one seat, as the data of an instance
rule_scores    the dimensions that a scene's rules score
seat_scores    the scores of a seat: by rule, or by judges
recording      stores the episodes and events of played scenes
strategies     advice before each turn, which only the advised seat sees
environment    Social-v0: the student's seat; models or scripts play the others
aec            SocialAECEnv: all seats, as a PettingZoo environment (the extra `pettingzoo`)
action_space   the texts of actions as a space with masks
loaders        selects scenes, casts and seats
domain         how scenes are posed, judged and taught
task           SocialTask
procedural     generated small scenes (procedural_problem), by skill (procedural_skills), and
               their domain
moves          strategies in plain words for them, and the utterances that follow each
pocket         PocketSocialTask: these scenes, for a pocket student
evaluators     judges score seven dimensions of a character, and name the turns that mattered
content        the characters and scenes in the package
"""

from dataenvgym.tasks.social.actions import (
    Action,
    ActionKind,
    InvalidActionText,
    read_action,
    write_action,
)
from dataenvgym.tasks.social.casting import casts, check_casts
from dataenvgym.tasks.social.collection import (
    Profiles,
    keep_profiles,
    profiles_in,
    read_profiles,
    shipped_profiles,
    write_profiles,
)
from dataenvgym.tasks.social.domain import SocialDomain
from dataenvgym.tasks.social.environment import SocialEnvironment
from dataenvgym.tasks.social.episodes import Episode, SeatScore, Utterance
from dataenvgym.tasks.social.partners import TEMPERAMENTS, Negotiator, Temperament
from dataenvgym.tasks.social.problem import SocialProblem
from dataenvgym.tasks.social.profiles import (
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
from dataenvgym.tasks.social.scene import Cast, Event, SceneState
from dataenvgym.tasks.social.sotopia_dump import SotopiaDump, read_sotopia, write_sotopia
from dataenvgym.tasks.social.strategies import Strategies
from dataenvgym.tasks.social.task import SocialTask
from dataenvgym.tasks.social.turns import Rules, rules_of

__all__ = [
    "Action",
    "ActionKind",
    "AgeRange",
    "Cast",
    "Character",
    "Deal",
    "Episode",
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
