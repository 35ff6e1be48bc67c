"""`SkillTree-v0`: the agent explores and exploits a forest of skills, and an engine writes.

    forest       the frozen model: Forest -> Tree -> Subskill
    actions      `Explore` and `Exploit`, and the refusal of impossible ones
    transitions  (forest, action) -> forest, (forest, results) -> forest
    subskills    what an engine may know: names of new ones, and to which one a problem belongs
    accuracies   how well the student knows them
    files        what an iteration leaves behind
    spaces       the gymnasium spaces
    environment  `SkillTree` itself

The first three know neither tasks nor files, and serve simulations as well.
"""

from dataenvgym.environments.skill_tree.actions import (
    Exploit,
    Explore,
    TreeAction,
    parse_tree_action,
)
from dataenvgym.environments.skill_tree.environment import SkillTree
from dataenvgym.environments.skill_tree.forest import Forest, Subskill, Tree
from dataenvgym.environments.skill_tree.spaces import ForestSpace, TreeActionSpace
from dataenvgym.environments.skill_tree.subskills import ProposesSubskills, TellsSubskills
from dataenvgym.environments.skill_tree.transitions import (
    Accuracies,
    Results,
    apply_action,
    apply_results,
    plant,
)

__all__ = [
    "Accuracies",
    "Exploit",
    "Explore",
    "Forest",
    "ForestSpace",
    "ProposesSubskills",
    "Results",
    "SkillTree",
    "Subskill",
    "TellsSubskills",
    "Tree",
    "TreeAction",
    "TreeActionSpace",
    "apply_action",
    "apply_results",
    "parse_tree_action",
    "plant",
]
