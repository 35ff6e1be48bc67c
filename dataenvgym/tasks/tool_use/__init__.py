"""Tool use: plans, calls, and conversations in which tools change a world."""
