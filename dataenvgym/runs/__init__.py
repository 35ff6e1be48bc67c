"""Runs: one agent in one teaching environment, and evaluations, from a configuration to a report.

config      composes, checks and builds what a command names
episodes    the runner, the run directory, resuming, reports
evaluation  evaluations, suites, generations, attributions
documents   what commands show, and its renderers; `texts` has words for figures
"""
