"""Gymnasium wrappers around the teaching environments.

fixed_layout   a forest as numbers of fixed size, and numbers as orders of records
fixed_forest   `SkillTree-v0` in these boxes, for RL libraries
"""

from dataenvgym.wrappers.fixed_forest import FixedForest
from dataenvgym.wrappers.fixed_layout import FEATURES, FixedLayout

__all__ = ["FEATURES", "FixedForest", "FixedLayout"]
