"""The agent of `SkillTree-v0` and its policies; the environment owns the engine."""
