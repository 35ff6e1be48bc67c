"""Gymnasium wrappers around the teaching environments.

fixed_layout   the layout of forests and actions as arrays of fixed size
fixed_forest   `SkillTree-v0` with these arrays, for RL libraries
"""

from dataenvgym.wrappers.fixed_forest import FixedForest
from dataenvgym.wrappers.fixed_layout import FEATURES, FixedLayout

__all__ = ["FEATURES", "FixedForest", "FixedLayout"]
