"""`episodes.jsonl`: one row for each episode of an evaluation of scenes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from dataenvgym.evaluation.files import EvaluationFiles, read_models, write_models
from dataenvgym.evaluation.samples import Sample
from dataenvgym.records import Model, TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.store import Store
from dataenvgym.tasks.purposes import Purpose
from dataenvgym.tasks.social.episodes import Episode
from dataenvgym.tasks.social.evaluators import overall
from dataenvgym.tasks.social.kinds import EPISODES
from dataenvgym.tasks.social.problem import problem_of
from dataenvgym.tasks.social.recording import SceneRecorder, episode_id

_WAY_OUT = "remove the file, and the same command writes it again"


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
    ids = [_episode_of(sample, files.directory.name) for sample in samples]
    kept = store.get_many(EPISODES, ids)
    return [
        _row(
            id,
            sample,
            instances[sample.instance_id],
            episode,
            recorder=recorder,
            trial=trial,
            are_seats_alike=are_seats_alike,
            judges=judges,
        )
        for id, sample, episode in zip(ids, samples, kept, strict=True)
    ]


def write_rows(path: Path, rows: Iterable[EpisodeRow]) -> None:
    """Write one row per line, atomically."""
    write_models(path, rows)


def read_rows(path: Path) -> list[EpisodeRow]:
    """Read the rows of a file.

    Raises:
        RunDirectoryError: if it is damaged.
    """
    return read_models(path, EpisodeRow, _WAY_OUT)


def _episode_of(sample: Sample, run: str) -> str:
    """The id of the sample's saved episode (see `rollouts.instance_rollout`)."""
    seed = derive_seed(sample.seed, "rollout", sample.instance_id)
    return episode_id(Purpose(run, sample.phase), sample.instance_id, seed)


def _row(
    id: str,
    sample: Sample,
    instance: TaskInstance,
    episode: Episode | None,
    *,
    recorder: SceneRecorder,
    trial: int,
    are_seats_alike: bool,
    judges: Collection[str],
) -> EpisodeRow:
    problem = problem_of(instance)
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
    return EpisodeRow(
        id=id,
        instance=instance.id,
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
        dialogue=_dialogue(episode) if episode else (),
        error=sample.error,
        fault=sample.fault,
    )


def _dialogue(episode: Episode) -> tuple[tuple[int, str, str, str], ...]:
    return tuple(
        (turn, said.sender, said.recipient, said.text)
        for turn, utterances in enumerate(episode.turns[1:])
        for said in utterances
    )
