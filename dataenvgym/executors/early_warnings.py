"""Warnings given while an episode is built, when no run listens yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan
from dataenvgym.run_warnings import listening, warn_run


class EarlyWarnings(EpisodeCallback):
    """Gathers warnings, and repeats them to the run: the last of its callbacks."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather what is warned about in the block."""
        with listening(self._texts.append):
            yield

    def on_start(self, plan: EpisodePlan) -> None:
        for text in self._texts:
            warn_run(text)
