"""Builds the weights of the pocket students: `python -m tools.pocket.build`."""
