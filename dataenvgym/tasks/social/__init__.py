"""Social simulation: characters with goals and secrets talk, and the scene is scored.

evaluators  seven dimensions of how a character did, scored by judges; the turns that mattered
"""
