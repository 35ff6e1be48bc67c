"""`episodes.jsonl`: one row for each episode of an evaluation of scenes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from dataenvgym.domains.social.episodes import Stuck, stuck
from dataenvgym.domains.social.evaluators import overall
from dataenvgym.domains.social.kinds import EPISODES
from dataenvgym.domains.social.problem import problem_of
from dataenvgym.domains.social.recording import SceneRecorder, episode_id
from dataenvgym.evaluation.files import EvaluationFiles, read_models
from dataenvgym.evaluation.samples import Sample
from dataenvgym.records import Model
from dataenvgym.seeding import derive_seed
from dataenvgym.store import Store
from dataenvgym.tasks.base import Purpose


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
        stuck: of each seat, whether it did not converse (see `social.episodes.stuck`).
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


def rows_of(
    files: EvaluationFiles,
    samples: Sequence[Sample],
    store: Store,
    recorder: SceneRecorder,
    *,
    trial: int = 0,
    are_seats_alike: bool = False,
    judges: Collection[str] = ("judge",),
) -> list[EpisodeRow]:
    """Make a row for each sample, in their order.

    Args:
        store: has the episodes.
        recorder: knows the models of the characters.
        are_seats_alike: True if every seat is the student's.
        judges: speakers whose failure leaves a finished episode.
    """
    instances = {instance.id: instance for instance in files.read_instances()}
    ids = [
        episode_id(  # of the saved episode, see `rollouts.instance_rollout`
            Purpose(files.directory.name, sample.phase),
            sample.instance_id,
            derive_seed(sample.seed, "rollout", sample.instance_id),
        )
        for sample in samples
    ]
    rows: list[EpisodeRow] = []
    for id, sample, episode in zip(ids, samples, store.get_many(EPISODES, ids), strict=True):
        problem = problem_of(instances[sample.instance_id])
        seats = problem.cast.seats
        if sample.error is not None and sample.fault not in judges:
            episode = None  # it broke off; a saved episode is from an earlier try
        scores: list[dict[str, float] | None] = [None for _ in seats]
        if sample.error is None:
            scores[problem.seat] = dict(sample.scores)
            for seat, score in enumerate(episode.scores if episode else ()):
                if score is not None and seat != problem.seat:
                    mean = overall(score.dimensions)
                    scores[seat] = score.dimensions | ({} if mean is None else {"overall": mean})
        dialogue = tuple(
            (turn, said.sender, said.recipient, said.text)
            for turn, utterances in enumerate(episode.turns[1:] if episode else ())
            for said in utterances
        )
        names = problem.cast.names if episode else ()
        rows.append(
            EpisodeRow(
                id=id,
                instance=sample.instance_id,
                sample=sample.sample,
                trial=trial,
                scene=problem.scene.id,
                subsets=problem.scene.subsets,
                cast=tuple(c.id for c in problem.characters),
                seats=tuple(seats) if are_seats_alike else (problem.seat,),
                models=recorder.models_of(problem),
                scores=tuple(scores),
                by_judge=episode.by_judge if episode else (),
                turns=len(episode.turns) - 1 if episode else None,
                dialogue=dialogue,
                stuck=tuple(
                    stuck(text for _, who, _, text in dialogue if who == name) for name in names
                ),
                error=sample.error,
                fault=sample.fault,
            )
        )
    return rows


def read_rows(path: Path) -> list[EpisodeRow]:
    """Read the rows of a file.

    Raises:
        RunDirectoryError: if it is damaged.
    """
    return read_models(path, EpisodeRow, "remove the file, and the same command writes it again")
