"""Evaluations of scenes between characters: `dataenvgym eval task=social`.

- With a judge, all seven dimensions are scored, unless `task.dimensions` is set.
- Each scene is played from both seats, unless all seats have the same model with the same
  strategist: then it is played once, from the first seat, and every seat is scored.
- Each episode is saved: `episodes/` in the folder of the evaluation is a store of files, and
  `episodes.jsonl` has one row for each (see `dimension_table`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.domains.social.dimension_table import DimensionTable, EpisodeRow, dimension_table
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.evaluators import DIMENSIONS, overall
from dataenvgym.domains.social.problem import MODEL, SocialProblem
from dataenvgym.domains.social.recording import SceneRecorder, episode_id
from dataenvgym.domains.social.scene_log import EPISODES, SceneLog, stuck
from dataenvgym.domains.social.scores import Scoring
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, can
from dataenvgym.records import TaskInstance
from dataenvgym.records.store import FileStore, MemoryStore, Store
from dataenvgym.runs.config.building import recording_domain
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.seeding import derive_seed
from dataenvgym.storage import read_bytes, write_json
from dataenvgym.tasks.base import Purpose, Task
from dataenvgym.tasks.first_prompts import first_prompts
from dataenvgym.tasks.metrics.files import EvaluationFiles, read_models, write_models
from dataenvgym.tasks.metrics.samples import Sample
from dataenvgym.tasks.rollouts.speakers import CURRENT, StudentSpeaker
from dataenvgym.workspace import naming_damage

if TYPE_CHECKING:
    from omegaconf import DictConfig

CHUNK = 32
"""The default of `chunk` for scenes: the most problems that a killed evaluation plays again."""
_EPISODES, _ROWS, _TABLE = "episodes", DimensionTable.files["episodes"], "dimensions.json"
LONGER = (
    "Choose task=pocket_social, whose scenes are made for a small student, or a model with a "
    "longer context (model=openai/NAME, model=hf/NAME)"
)


class Scenes:
    """The scenes of an evaluation, and the models in their seats.

    Args:
        names: the names of the models (see `SocialDomain.model_names`).
        section: the task's section of the configuration.
        are_seats_alike: True if each scene is played once, with the same model in every seat.
    """

    def __init__(
        self, names: Mapping[str, str], section: Mapping[str, Any], *, are_seats_alike: bool
    ) -> None:
        self.are_seats_alike = are_seats_alike
        self._names, self._trial = dict(names), int(section["trial"])
        self._scoring = Scoring(dimensions=section["dimensions"], judges=tuple(section["judges"]))

    @classmethod
    def of(
        cls, config: DictConfig, overrides: Sequence[str] | None, adapter: Path | None
    ) -> Scenes:
        """Prepare the evaluation: set the scored dimensions, the played seats, the chunk size.

        Args:
            overrides: of the configuration. If they do not choose the task (it is a run's), or are
                None (it was composed), the task keeps its dimensions.
            adapter: the folder of the student's adapter.
        """
        task = config.task
        others = task.get("others") or {}
        keys = None if overrides is None else [o.key for o in parse_overrides(overrides)]
        is_open = keys is not None and "task" in keys and "task.dimensions" not in keys
        if is_open and any(judge in others for judge in task.judges):
            task.dimensions = list(DIMENSIONS)
        alike = task.seats == "both" and _are_seats_alike(config, adapter)
        if alike:
            task.seats, task.scored = "first", "all"
        names = SocialDomain.model_names(config)
        if adapter is not None:
            names["student"] = f"{names['student']}:{adapter}"
        if config.chunk is None:
            config.chunk = CHUNK
        return cls(names, task, are_seats_alike=alike)

    @classmethod
    def again(cls, settings: DictConfig, directory: Path) -> Scenes | None:
        """The scenes of an evaluation with a table of dimensions, to be judged by `settings`."""
        path = directory / _TABLE
        if not path.exists():
            return None
        with naming_damage(path, "remove the file, and `dataenvgym eval` writes it again"):
            before = DimensionTable.model_validate_json(read_bytes(path))
        names = SocialDomain.model_names(settings) | {"student": before.models["student"]}
        return cls(names, settings.task, are_seats_alike=before.every_seat)

    def check(
        self, task: Task, predictor: PredictorInterface, instances: Sequence[TaskInstance]
    ) -> None:
        """Raise a ConfigurationError for scenes that cannot be played or scored."""
        for problem in (i.data_as(SocialProblem) for i in instances):
            if problem.partner == MODEL and "partner" not in task.others:
                raise ConfigurationError(
                    "task.partner is 'model', but there is no such speaker: name it with "
                    "task.others.partner=openai/NAME, or take a scripted one (task.partner=fair)"
                )
            seats = problem.cast.seats if self.are_seats_alike else (problem.seat,)
            unscored = [n for seat in seats for n in self._scoring.to_judge(problem.scene, seat)]
            missing = [judge for judge in self._scoring.judges if judge not in task.others]
            if unscored and missing:
                names = ", ".join(dict.fromkeys(unscored))
                raise ConfigurationError(
                    f"no rule scores {names} in scene {problem.scene.id!r}, but there is no "
                    f"speaker {missing[0]!r} to judge: name one with task.others.judge=openai/NAME"
                )
        refuse_long_scenes(task, predictor, instances)

    def begin(self, task: Task, directory: Path | None) -> Store:
        """From now on, also save played episodes: in this folder, or in memory."""
        store = MemoryStore() if directory is None else FileStore(directory / _EPISODES)
        if (domain := recording_domain(task)) is not None:
            domain.record_in(store, self._names, events=False)
        return store

    def sum_up(self, files: EvaluationFiles, samples: int, *, was_drawn: bool) -> DimensionTable:
        """Write `episodes.jsonl` and `dimensions.json` of the samples as they were drawn.

        Args:
            was_drawn: True if nothing was played now; then existing rows are kept, even if the
                folder was renamed.
        """
        path = files.directory / _ROWS
        rows: list[EpisodeRow] = []
        if was_drawn and path.exists():
            how = "remove the file, and the same command writes it again"
            rows = [row for row in read_models(path, EpisodeRow, how) if row.sample < samples]
        if len(rows) != samples * len(files.read_instances()):
            drawn = list(files.read_samples(samples))
            rows = self._write_rows(path, files, drawn, FileStore(files.directory / _EPISODES))
        return self._write_table(files.directory, rows)

    def sum_up_again(
        self, files: EvaluationFiles, samples: Sequence[Sample], kept: Store, folder: Path
    ) -> DimensionTable:
        """Write the same of samples that were judged again; `kept` has their episodes."""
        return self._write_table(folder, self._write_rows(folder / _ROWS, files, samples, kept))

    def _write_rows(
        self, path: Path, files: EvaluationFiles, samples: Sequence[Sample], store: Store
    ) -> list[EpisodeRow]:
        """Write a row for each sample, in their order; the store has the episodes."""
        instances = {instance.id: instance for instance in files.read_instances()}
        ids = [
            episode_id(  # of the saved episode, see `rollouts.instance_rollout`
                Purpose(files.directory.name, sample.phase),
                sample.instance_id,
                derive_seed(sample.seed, "rollout", sample.instance_id),
            )
            for sample in samples
        ]
        rows = []
        for id, sample, episode in zip(ids, samples, store.get_many(EPISODES, ids), strict=True):
            if sample.error is not None and sample.fault not in self._scoring.judges:
                episode = None  # it broke off; a saved episode is from an earlier try
            rows.append(
                self._row(id, sample, instances[sample.instance_id].data_as(SocialProblem), episode)
            )
        write_models(path, rows)
        return rows

    def _row(
        self, id: str, sample: Sample, problem: SocialProblem, episode: SceneLog | None
    ) -> EpisodeRow:
        seats = problem.cast.seats
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
        said_by = [[text for _, who, _, text in dialogue if who == name] for name in names]
        return EpisodeRow(
            id=id,
            instance=sample.instance_id,
            sample=sample.sample,
            trial=self._trial,
            scene=problem.scene.id,
            subsets=problem.scene.subsets,
            cast=tuple(c.id for c in problem.characters),
            seats=tuple(seats) if self.are_seats_alike else (problem.seat,),
            models=SceneRecorder(self._names).models_of(problem),
            scores=tuple(scores),
            by_judge=episode.by_judge if episode else (),
            turns=len(episode.turns) - 1 if episode else None,
            dialogue=dialogue,
            stuck=tuple(map(stuck, said_by)),
            error=sample.error,
            fault=sample.fault,
        )

    def _write_table(self, folder: Path, rows: Sequence[EpisodeRow]) -> DimensionTable:
        table = dimension_table(rows, self._names)
        write_json(folder / _TABLE, table.model_dump(mode="json"))
        return table


def _are_seats_alike(config: DictConfig, adapter: Path | None) -> bool:
    task = config.task
    others: Any = task.get("others") or {}
    if (
        task.partner != MODEL
        or "partner" not in others
        or task.get("scenes") == "procedural"  # each has one seat for the student, scored by a rule
        or task.get("role", "speaker") != "speaker"
        or task.system_prompt  # the student's prompt may differ from the partner's
        or task.template != "{instruction}"
        or any(task.sampling[n] != task.partner_sampling[n] for n in ("temperature", "top_p"))
    ):
        return False
    partner_class = str(others.partner.get("_target_")).rpartition(".")[2]
    is_itself = (
        partner_class == StudentSpeaker.__name__
        and others.partner.get("adapter", CURRENT) == CURRENT
    )
    if not is_itself and _who(config.predictor, adapter) != _who(others.partner):
        return False
    sides = task.get("strategists") or ()
    advisers = [
        _who(others[who]) if side in sides and who in others else None
        for side, who in (("own", "strategist"), ("partner", "partner_strategist"))
    ]
    return advisers[0] == advisers[1]


def _who(section: Any, adapter: Path | None = None) -> Any:
    """The identity of a predictor or teacher: the model and its server, or its weights."""
    from omegaconf import OmegaConf

    if section.get("model") is not None:
        url = str(section.get("base_url")).rstrip("/").removesuffix("/v1")
        return "openai", section.model, url
    if "student" in section:
        return "weights", section.student, str(adapter or section.get("adapter"))
    return OmegaConf.to_container(section, resolve=True)


def refuse_long_scenes(
    task: Task, predictor: PredictorInterface, instances: Sequence[TaskInstance]
) -> None:
    """Raise a ConfigurationError if the student's context has no room for the beginning of a scene.

    Only a predictor with `refusals(conversations)` can be checked. No model is asked.
    """
    if not can(predictor, "refusals"):
        return
    beginnings = first_prompts(task, instances)
    failures = [failure for failure in predictor.refusals(beginnings) if failure is not None]
    if failures:
        raise ConfigurationError(
            f"{len(failures)} of {len(beginnings)} scenes cannot begin with this student: "
            f"{failures[0].reason}. {LONGER}"
        )
