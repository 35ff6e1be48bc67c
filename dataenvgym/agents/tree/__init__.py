"""The policies of `SkillTree-v0`; the environment owns the engine."""
