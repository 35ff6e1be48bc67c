"""The agent of `SkillTree-v0` and its policies; its environment owns the engine."""
