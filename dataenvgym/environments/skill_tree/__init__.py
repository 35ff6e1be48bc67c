"""`SkillTree-v0`: the agent explores and exploits a forest of skills, and an engine writes.

    forest       the frozen model: Forest -> Tree -> Subskill
    actions      `Explore` and `Exploit`, and the gymnasium spaces; impossible actions are refused
    transitions  (forest, action) -> forest, (forest, results) -> forest
    tree_engine  the engine, and its optional methods: name new subskills, find a problem's one
    environment  `SkillTree` itself

The first three use neither tasks nor files, so simulations use them too.
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.environments.skill_tree.actions import (
        Exploit,
        Explore,
        TreeAction,
        TreeActionSpace,
        parse_tree_action,
    )
    from dataenvgym.environments.skill_tree.environment import SkillTree
    from dataenvgym.environments.skill_tree.forest import Forest, Subskill, Tree
    from dataenvgym.environments.skill_tree.transitions import (
        Accuracies,
        Results,
        apply_action,
        apply_results,
        plant,
    )
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "Accuracies",
    "Exploit",
    "Explore",
    "Forest",
    "Results",
    "SkillTree",
    "Subskill",
    "Tree",
    "TreeAction",
    "TreeActionSpace",
    "apply_action",
    "apply_results",
    "parse_tree_action",
    "plant",
]
