"""Engines: they turn a plan into training records. Those of one domain are in its folder."""
