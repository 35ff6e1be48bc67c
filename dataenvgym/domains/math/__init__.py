"""Math problems with one final answer: from files, by dataset name, from reasoning-gym, pocket."""
