"""Skills: which ones a task's questions need, where gold labels are missing or not wanted.

labeler          CatalogLabeler: makes a catalog once for a run, labels instances from it
├── discovered   DiscoveredSkills: a teacher names, merges and sorts them
├── clusters     ClusteredSkills: clusters of the questions' embeddings, named by telling words
└── placing      PlacingLabeler: a teacher or similarity places what its catalog does not know
    ├── gold     FilledGoldSkills: the task's own, with missing ones filled in
    └── saved    SavedSkills: those of an earlier run
catalog          SkillCatalog: the labels of a labeler, as a file
asking           what a teacher is asked about skills
embeddings       texts as vectors, local or from a server
similarity       the nearest text
"""

from dataenvgym.skills.catalog import LabeledQuestion, Skill, SkillCatalog, read_catalog
from dataenvgym.skills.clusters import ClusteredSkills
from dataenvgym.skills.discovered import DiscoveredSkills
from dataenvgym.skills.embeddings import EmbedderInterface, EndpointEmbedder, TfidfEmbedder
from dataenvgym.skills.gold import FilledGoldSkills
from dataenvgym.skills.labeler import CatalogLabeler
from dataenvgym.skills.saved import SavedSkills

__all__ = [
    "CatalogLabeler",
    "ClusteredSkills",
    "DiscoveredSkills",
    "EmbedderInterface",
    "EndpointEmbedder",
    "FilledGoldSkills",
    "LabeledQuestion",
    "SavedSkills",
    "Skill",
    "SkillCatalog",
    "TfidfEmbedder",
    "read_catalog",
]
