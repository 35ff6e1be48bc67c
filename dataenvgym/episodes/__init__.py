"""Episodes: one agent in one teaching environment, from the base student to the test split.

runner      `run_episode`: the loop of agent and environment
recorded_agent  the agent, with its state kept for going on after a kill
bookkeeping the summary, the test scores, the end
callbacks   what can be told of it meanwhile: event log, experiment trackers
progress    the display while it runs
log         what libraries have to say while it runs
summary     what it came to: `summary.json`
run_files   a run directory, read
report      `report.md` (its sections in `report_sections`) and the short version for a terminal;
            `plots` draws `curve.png`
show        its records and transcripts, before and after
export      its records and adapters, for use elsewhere
"""

from dataenvgym.episodes.callbacks import (
    EpisodeCallback,
    EpisodePlan,
    EventLog,
    MetricsCallback,
)
from dataenvgym.episodes.runner import run_episode
from dataenvgym.episodes.summary import IterationSummary, Summary, read_summary

__all__ = [
    "EpisodeCallback",
    "EpisodePlan",
    "EventLog",
    "IterationSummary",
    "MetricsCallback",
    "Summary",
    "read_summary",
    "run_episode",
]
