"""The results of an evaluation of scenes: a row for each episode, and a table of dimensions.

`episodes.jsonl` has the rows; `dimensions.json` has the mean of each dimension with its 95%
interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.console import Console
from rich.text import Text

from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.scene_log import Stuck
from dataenvgym.records import Model
from dataenvgym.runs.episodes.tables import table_of, uncut
from dataenvgym.runs.episodes.texts import counts, one_line, score, several
from dataenvgym.tasks.judging.panel import Value, krippendorff_alpha
from dataenvgym.tasks.metrics.estimators import Estimate, clustered_estimate

NAMES = (*DIMENSIONS, "overall")
HARD = "hard"


class EpisodeRow(Model):
    """An episode of an evaluation.

    Attributes:
        id: of the episode in a store.
        instance: the problem; `sample` is the number of the try.
        subsets: of the scene, such as "hard".
        cast: the ids of the characters, seat by seat.
        seats: the student's seats, which are evaluated.
        models: of the judge, then of each seat.
        scores: of each seat, by dimension; None for a seat without scores.
        by_judge: of each seat, the scores of each judge by dimension.
        turns: the number of played turns; None if the scene broke off.
        dialogue: (turn, speaker, addressee, text), from turn 0.
        stuck: of each seat, whether it did not converse (see `episodes.stuck`).
        error, fault: why there are no scores, and who is at fault.
    """

    id: str
    instance: str
    sample: int
    trial: int
    scene: str
    subsets: tuple[str, ...]
    cast: tuple[str, ...]
    seats: tuple[int, ...]
    models: tuple[str, ...]
    scores: tuple[dict[str, float] | None, ...]
    by_judge: tuple[dict[str, dict[str, float]], ...] = ()
    turns: int | None
    dialogue: tuple[tuple[int, str, str, str], ...] = ()
    stuck: tuple[Stuck | None, ...] = ()
    error: str | None = None
    fault: str | None = None


class DimensionScores(Model):
    """The mean scores over the episodes of some scenes.

    Attributes:
        scenes: "hard" or "all".
        n_scenes, n_episodes: those with scores.
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
        excluded: the number of episodes without scores, by who is at fault.
        agreement: Krippendorff's alpha of several judges for each dimension (interval level); None
            if it is undefined.
        n_judged_by_fewer: the number of episodes for which one of the judges gave no verdict.
        stuck: the number of the student's seats in scored episodes, by kind of `episodes.stuck`.
    """

    models: dict[str, str]
    every_seat: bool
    columns: tuple[DimensionScores, ...]
    n_episodes: int
    excluded: dict[str, int]
    agreement: dict[str, float | None] = {}
    n_judged_by_fewer: int = 0
    stuck: dict[str, int] = {}

    files: ClassVar[Mapping[str, str]] = {"episodes": "episodes.jsonl"}

    def show(self, console: Console) -> None:
        """Print the table of dimensions, and what it is about."""
        table = table_of(("dimension",), ("range",))
        for column in self.columns:
            table.add_column(column.scenes, justify="right")
            table.add_column("95%", justify="right")
        for name in self.columns[-1].dimensions:
            cells = []
            for column in self.columns:
                one = column.dimensions.get(name, Estimate(n=0))
                half = f"± {one.half_width:.2f}" if one.half_width is not None and one.sd else ""
                cells += [score(one.mean, 2), half]
            within = DIMENSIONS.get(name)
            limits = "" if within is None else f"{within.low}..{within.high}"
            style = "bold" if within is None else None
            table.add_row(name.replace("_", " "), limits, *cells, style=style)
        console.print(uncut(table), crop=False)
        for line in dimension_lines(self):
            console.print(Text(line, style="dim"))
        console.print()


def dimension_table(rows: Sequence[EpisodeRow], models: Mapping[str, str]) -> DimensionTable:
    """Aggregate the rows of an evaluation of these models."""
    hard = [row for row in rows if HARD in row.subsets]
    parts = {HARD: hard} if len(hard) == len(rows) else {HARD: hard, "all": rows}
    failed = [row.fault or "unknown" for row in rows if row.error is not None]
    scored = [row for row in rows if row.error is None]
    judges = set().union(*map(_judges_of, rows))
    scoring = set().union(*map(_judges_of, scored))
    units: dict[str, list[list[Value | None]]] = {name: [] for name in DIMENSIONS}
    for seat in (seat for row in rows for seat in row.by_judge if len(judges) > 1):
        for name, given in seat.items():
            units[name].append([given.get(judge) for judge in sorted(judges)])
    stuck = Counter(
        kind for row in scored for seat, kind in enumerate(row.stuck) if kind and seat in row.seats
    )
    return DimensionTable(
        models=dict(models),
        every_seat=any(len(row.seats) > 1 for row in rows),
        columns=tuple(_scores(name, part) for name, part in parts.items() if part),
        n_episodes=len(rows),
        excluded=dict(Counter(failed).most_common()),
        agreement={n: krippendorff_alpha(of, "interval") for n, of in units.items() if of},
        n_judged_by_fewer=sum(0 < len(_judges_of(row)) < len(scoring) for row in scored),
        stuck=dict(sorted(stuck.items())),
    )


def _judges_of(row: EpisodeRow) -> set[str]:
    return {judge for seat in row.by_judge for given in seat.values() for judge in given}


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


def dimension_lines(found: DimensionTable) -> list[str]:
    """Notes on the table of dimensions: its models and scenes, and the episodes left out."""
    about = " and ".join(
        f"{several(c.n_episodes, 'episode')} of {several(c.n_scenes, 'scene')} ({c.scenes})"
        for c in found.columns
    )
    who = ", ".join(f"{name.replace('_', ' ')} {model}" for name, model in found.models.items())
    seats = "; every seat counts, as all have the same model" if found.every_seat else ""
    lines = [one_line(who, 400), f"mean of {about}{seats}; intervals are clustered by scene"]
    seats_of = {name: one.n for c in found.columns[-1:] for name, one in c.dimensions.items()}
    most = max(seats_of.values(), default=0)
    lines += [
        f"{name.replace('_', ' ')} is scored in {n} of {most} seats only, by the rules of scenes"
        for name, n in seats_of.items()
        if n < most
    ]
    if found.excluded:
        n = sum(found.excluded.values())
        lines.append(
            f"{n} of {several(found.n_episodes, 'episode')} left out, because they have no scores: "
            f"{counts(found.excluded)}"
        )
    kinds = {"silent": "said and did nothing", "repeating": "said the same every time"}
    lines += [
        f"in {n} of {most} seats, the student {kinds[kind]}" for kind, n in found.stuck.items()
    ]
    if found.n_judged_by_fewer:
        lines.append(
            f"{several(found.n_judged_by_fewer, 'episode')} judged by fewer judges, because some "
            "gave no verdict"
        )
    if found.agreement:
        alphas = ", ".join(
            f"{name.replace('_', ' ')} {'not defined' if alpha is None else f'{alpha:.2f}'}"
            for name, alpha in found.agreement.items()
        )
        lines.append(f"agreement of the judges (Krippendorff's alpha): {alphas}")
    return lines
