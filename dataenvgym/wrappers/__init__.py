"""Gymnasium wrappers around the teaching environments: `SkillTree-v0` with arrays of fixed size."""

from dataenvgym.wrappers.fixed_forest import FEATURES, FixedForest, FixedLayout

__all__ = ["FEATURES", "FixedForest", "FixedLayout"]
