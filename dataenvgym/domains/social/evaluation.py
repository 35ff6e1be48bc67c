"""Evaluations of scenes between characters: `dataenvgym eval task=social`.

- With a judge, all seven dimensions are scored, unless `task.dimensions` is set.
- Each scene is played from both seats, unless all seats have the same model with the same
  strategist: then it is played once, from the first seat, and every seat is scored.
- Each episode is saved: `episodes/` in the folder of the evaluation is a store of files, and
  `episodes.jsonl` has one row for each; `dimensions.json` has the mean of each dimension with its
  95% interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.evaluators import DIMENSIONS, overall
from dataenvgym.domains.social.problem import MODEL, SocialProblem
from dataenvgym.domains.social.recording import episode_id
from dataenvgym.domains.social.scene_log import EPISODES, SceneLog, Stuck, stuck
from dataenvgym.domains.social.scores import Scoring
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, can
from dataenvgym.records import Model, TaskInstance
from dataenvgym.records.store import FileStore, Store
from dataenvgym.runs.config.building import recording_domain
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.runs.documents import Document, Line, Row, table
from dataenvgym.runs.texts import counts, one_line, score, several
from dataenvgym.seeding import derive_seed
from dataenvgym.storage import read_model, read_models, write_json, write_jsonl
from dataenvgym.tasks.base import Purpose, Task
from dataenvgym.tasks.first_prompts import first_prompts
from dataenvgym.tasks.judging.panel import Value, krippendorff_alpha
from dataenvgym.tasks.metrics.estimators import Estimate, clustered_estimate
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.samples import Sample
from dataenvgym.tasks.rollouts.speakers import CURRENT, StudentSpeaker

if TYPE_CHECKING:
    from omegaconf import DictConfig

NAMES = (*DIMENSIONS, "overall")
HARD = "hard"


class EpisodeRow(Model):
    """An episode of an evaluation.

    Attributes:
        id: of the episode in a store.
        instance: the problem; `sample` is the number of the try.
        scene: its id, and the `subsets` that it is in, such as "hard".
        seats: the student's seats, which are evaluated.
        scores: of each seat, by dimension; None for a seat without scores.
        stuck: of each seat, whether it did not converse (see `scene_log.stuck`).
        error, fault: why there are no scores, and who is at fault.
        played: the dialogue, the characters and models, and the verdict of each judge; None if the
            scene broke off.
    """

    id: str
    instance: str
    sample: int
    scene: str
    subsets: tuple[str, ...]
    seats: tuple[int, ...]
    scores: tuple[dict[str, float] | None, ...]
    stuck: tuple[Stuck | None, ...] = ()
    error: str | None = None
    fault: str | None = None
    played: SceneLog | None = None

    @property
    def by_judge(self) -> tuple[dict[str, dict[str, float]], ...]:
        """Of each seat, the scores of each judge by dimension."""
        return self.played.by_judge if self.played else ()

    @property
    def judges(self) -> set[str]:
        """The judges that gave a verdict."""
        return {judge for seat in self.by_judge for given in seat.values() for judge in given}


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

    def document(self) -> Document:
        """The mean of each dimension, the models, and the episodes left out."""
        rows: list[Row] = []
        for name, last in self.columns[-1].dimensions.items():
            within = DIMENSIONS.get(name)
            row: dict[str | tuple[str, str], object] = {
                "dimension": name.replace("_", " "),
                "range": "" if within is None else f"{within.low}..{within.high}",
            }
            for column in self.columns:
                one = column.dimensions.get(name, Estimate(n=0))
                half = f"± {one.half_width:.2f}" if one.half_width is not None and one.sd else ""
                row |= {column.scenes: score(one.mean, 2), (column.scenes, "95%"): half}
            row["seats"] = last.n
            if self.agreement:
                row["Krippendorff's alpha"] = score(self.agreement.get(name), 2)
            rows.append(row)
        yield table(rows)
        who = ", ".join(f"{name.replace('_', ' ')} {model}" for name, model in self.models.items())
        yield Line(one_line(who, 400), "note")
        about = " and ".join(
            f"{several(c.n_episodes, 'episode')} of {several(c.n_scenes, 'scene')} ({c.scenes})"
            for c in self.columns
        )
        seats = "; every seat counts, as all have the same model" if self.every_seat else ""
        yield Line(f"mean of {about}{seats}", "note")
        if self.excluded:
            n = f"{sum(self.excluded.values())} of {several(self.n_episodes, 'episode')}"
            yield Line(f"{n} left out without scores: {counts(self.excluded)}", "note")
        if self.stuck:
            yield Line(f"seats in which the student was stuck: {counts(self.stuck)}", "note")
        if self.n_judged_by_fewer:
            n = several(self.n_judged_by_fewer, "episode")
            yield Line(f"{n} judged by fewer judges, because some gave no verdict", "note")


def dimension_table(rows: Sequence[EpisodeRow], models: Mapping[str, str]) -> DimensionTable:
    """Aggregate the rows of an evaluation of these models."""
    hard = [row for row in rows if HARD in row.subsets]
    parts = {HARD: hard} if len(hard) == len(rows) else {HARD: hard, "all": rows}
    failed = [row.fault or "unknown" for row in rows if row.error is not None]
    scored = [row for row in rows if row.error is None]
    judges = set().union(*(row.judges for row in rows))
    scoring = set().union(*(row.judges for row in scored))
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
        n_judged_by_fewer=sum(0 < len(row.judges) < len(scoring) for row in scored),
        stuck=dict(sorted(stuck.items())),
    )


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


# --- an evaluation --------------------------------------------------------------------------------


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
        self._names = dict(names)
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
        way_out = "remove the file, and `dataenvgym eval` writes it again"
        before = read_model(path, DimensionTable, way_out)
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

    def begin(self, task: Task, directory: Path) -> Store:
        """From now on, also save played episodes in this folder."""
        store = FileStore(directory / _EPISODES)
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
        write_jsonl(path, rows)
        return rows

    def _row(
        self, id: str, sample: Sample, problem: SocialProblem, episode: SceneLog | None
    ) -> EpisodeRow:
        scores: list[dict[str, float] | None] = [None for _ in problem.cast.seats]
        if sample.error is None:
            scores[problem.seat] = dict(sample.scores)
            for seat, score in enumerate(episode.scores if episode else ()):
                if score is not None and seat != problem.seat:
                    mean = overall(score.dimensions)
                    scores[seat] = score.dimensions | ({} if mean is None else {"overall": mean})
        said = [each for turn in (episode.turns[1:] if episode else ()) for each in turn]
        names = problem.cast.names if episode else ()
        return EpisodeRow(
            id=id,
            instance=sample.instance_id,
            sample=sample.sample,
            scene=problem.scene.id,
            subsets=problem.scene.subsets,
            seats=tuple(problem.cast.seats) if self.are_seats_alike else (problem.seat,),
            scores=tuple(scores),
            stuck=tuple(stuck(each.text for each in said if each.sender == n) for n in names),
            error=sample.error,
            fault=sample.fault,
            played=episode,
        )

    def _write_table(self, folder: Path, rows: Sequence[EpisodeRow]) -> DimensionTable:
        table = dimension_table(rows, self._names)
        write_json(folder / _TABLE, table)
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
