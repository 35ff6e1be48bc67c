"""Finds the skills that a task's questions need, if gold labels are missing or not wanted.

labeler          CatalogLabeler: makes a catalog once for a run, labels instances from it
├── discovered   DiscoveredSkills: a teacher names, merges and sorts skills; ClusteredSkills:
│                clusters of the questions' embeddings, named by typical words
└── placing      PlacingLabeler: a teacher or similarity labels questions not in the catalog
    ├── FilledGoldSkills: the task's own labels; fills in missing ones
    └── SavedSkills: the skills of an earlier run
        └── PublishedSkills: those of a skill file of DataEnvGym
catalog          SkillCatalog: the labels of a labeler, as a file
skill_teacher    questions to a teacher about skills
embeddings       text embeddings, local or from a server, and the nearest of them
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.agents.skills.catalog import LabeledQuestion, Skill, SkillCatalog, read_catalog
    from dataenvgym.agents.skills.discovered import ClusteredSkills, DiscoveredSkills
    from dataenvgym.agents.skills.embeddings import TfidfEmbedder
    from dataenvgym.agents.skills.placing_labeler import (
        FilledGoldSkills,
        PublishedSkills,
        SavedSkills,
    )
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "ClusteredSkills",
    "DiscoveredSkills",
    "FilledGoldSkills",
    "LabeledQuestion",
    "PublishedSkills",
    "SavedSkills",
    "Skill",
    "SkillCatalog",
    "TfidfEmbedder",
    "read_catalog",
]
