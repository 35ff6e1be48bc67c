"""A trial: trains and evaluates the student on some records, and keeps nothing of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dataenvgym.environments.episode import Episode
from dataenvgym.environments.evaluation import evaluated
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.progress import tell
from dataenvgym.records import PerformanceReport, TrainingDatum
from dataenvgym.run_warnings import warn_run

_TRIED = (
    "records were tried on the student without being kept: each trial costs a training and an "
    "evaluation on the validation split, which agents without trials do not have"
)


def try_records(episode: Episode, records: Sequence[TrainingDatum]) -> PerformanceReport:
    """Report the result of a step with these records; see `TeachingEnvironment.trial`."""
    previous = episode.history.last
    number = episode.open_next().number
    began = time.perf_counter()
    warn_run(_TRIED)  # in each iteration, so that a resumed run has the same warnings
    with episode.folder.scratch() as folder:
        try:
            report = _tried(episode, records, IterationFiles(folder, number))
            episode.student.load(previous.adapter)
        except BaseException as error:
            episode.go_back(error)
            raise
    seconds = time.perf_counter() - began
    episode.clock.add("trial", seconds)
    gain = report.score - previous.report.score
    score = f"{report.score:.3f} ({gain:+.3f})"
    tell(f"trial: {len(records)} records, score {score}, {seconds:.0f} s")
    return report


def _tried(
    episode: Episode, records: Sequence[TrainingDatum], files: IterationFiles
) -> PerformanceReport:
    """The report after training on the records; all files go to `files`."""
    files.clear()
    clock = PhaseClock()  # its phases do not count for the iteration
    accepted = episode.judged(files.number, records).accepted
    episode.student.train(accepted, files, episode.history, seed=episode.seed, clock=clock)
    _, report = evaluated(
        episode.task, episode.predictor, episode.labeler, files, clock, phase="trial"
    )
    return report
