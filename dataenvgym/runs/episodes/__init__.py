"""Episodes: one agent in one teaching environment, from the base student to the test split.

runner      `run_episode`: the loop of agent and environment; both can be resumed
bookkeeping the summary, the test scores, the end
callbacks   notified while it runs, such as those of experiment trackers
events      `events.jsonl`, written while it runs
display     the display while it runs
summary     the result: `summary.json`
run_files   reads a run directory
report      `report.md`, and the short version for a terminal; `outcome` in words; `plots` draws it
show        its records and transcripts, before and after
export      its records and adapters, for use elsewhere
"""

from dataenvgym.runs.episodes.callbacks import EpisodeCallback, EpisodePlan, MetricsCallback
from dataenvgym.runs.episodes.events import EventLog
from dataenvgym.runs.episodes.runner import run_episode
from dataenvgym.runs.episodes.summary import IterationSummary, Summary, read_summary

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
