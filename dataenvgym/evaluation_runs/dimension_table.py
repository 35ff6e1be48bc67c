"""The results of an evaluation of scenes: the mean of each dimension, with its 95% interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dataenvgym.evaluation.estimates import Estimate, clustered_estimate
from dataenvgym.evaluation_runs.episode_rows import EpisodeRow
from dataenvgym.judging.agreement import Value, krippendorff_alpha
from dataenvgym.records import Model
from dataenvgym.tasks.social.evaluators import DIMENSIONS

NAMES = (*DIMENSIONS, "overall")
HARD = "hard"


class DimensionScores(Model):
    """The mean scores over the episodes of some scenes.

    Attributes:
        scenes: "hard" or "all".
        n_scenes, n_episodes: the numbers of scenes and episodes with scores.
        dimensions: by name; `n` counts the scored seats. The interval is clustered by scene,
            because seats, casts and samples of one scene depend on each other.
    """

    scenes: str
    n_scenes: int
    n_episodes: int
    dimensions: dict[str, Estimate]


class DimensionTable(Model):
    """The results of an evaluation of scenes, saved in `dimensions.json`.

    Attributes:
        models: the names of the models: {"student": NAME, "partner": NAME, "judge": NAME}.
        every_seat: True if every seat is the student's, and counts.
        columns: the hard scenes, unless all are hard, then all scenes.
        n_episodes: the number of played episodes.
        excluded: the number of episodes without scores, by who is at fault.
        agreement: Krippendorff's alpha of several judges for each dimension (interval level); None
            if it is undefined.
    """

    models: dict[str, str]
    every_seat: bool
    columns: tuple[DimensionScores, ...]
    n_episodes: int
    excluded: dict[str, int]
    agreement: dict[str, float | None] = {}


def dimension_table(rows: Sequence[EpisodeRow], models: Mapping[str, str]) -> DimensionTable:
    """Aggregate the rows of an evaluation.

    Args:
        models: the names of the models.
    """
    hard = [row for row in rows if HARD in row.subsets]
    parts = {HARD: hard} if len(hard) == len(rows) else {HARD: hard, "all": rows}
    failed = [row.fault or "unknown" for row in rows if row.error is not None]
    return DimensionTable(
        models=dict(models),
        every_seat=any(len(row.seats) > 1 for row in rows),
        columns=tuple(_scores(name, part) for name, part in parts.items() if part),
        n_episodes=len(rows),
        excluded=dict(Counter(failed).most_common()),
        agreement=_agreement(rows),
    )


def _agreement(rows: Sequence[EpisodeRow]) -> dict[str, float | None]:
    """The agreement on each dimension over all judged seats; empty with fewer than two judges."""
    seats = [seat for row in rows for seat in row.by_judge]
    judges = sorted({judge for seat in seats for given in seat.values() for judge in given})
    if len(judges) < 2:
        return {}
    units: dict[str, list[list[Value | None]]] = {name: [] for name in DIMENSIONS}
    for seat in seats:
        for name, given in seat.items():
            units[name].append([given.get(judge) for judge in judges])
    return {name: krippendorff_alpha(of, "interval") for name, of in units.items() if of}


def _scores(scenes: str, rows: Sequence[EpisodeRow]) -> DimensionScores:
    scored = [row for row in rows if row.error is None]
    by_scene: dict[str, list[dict[str, float]]] = {}
    for row in scored:
        found = (row.scores[seat] for seat in row.seats)
        by_scene.setdefault(row.scene, []).extend(score for score in found if score is not None)
    estimates = {
        name: clustered_estimate([[s[name] for s in of if name in s] for of in by_scene.values()])
        for name in NAMES
    }
    return DimensionScores(
        scenes=scenes,
        n_scenes=len(by_scene),
        n_episodes=len(scored),
        dimensions={name: found for name, found in estimates.items() if found.n},
    )
