"""Draws samples: the student answers all problems several times, each time with another seed.

Each sample of each chunk of instances is written to a file at once. Existing files are not drawn
again, so a killed evaluation loses at most one chunk of one sample.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.events import counting
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import TaskInstance, check_ids
from dataenvgym.records.checksums import save
from dataenvgym.tasks.adapted_task import evaluated_by, known_instances, one_by_one
from dataenvgym.tasks.base import Task, attempts_for, sample_seed
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.samples import samples_of
from dataenvgym.tasks.metrics.usage import metered


def instances_of(
    task: Task, samples: int, limit: int | None = None
) -> Sequence[TaskInstance] | None:
    """The task's problems, at most `limit`; None if the task has no `instances`.

    Raises:
        ConfigurationError: if it has no `instances`, but several samples or a limit need them.
        InvalidInstanceError: if two problems have the same id.
    """
    tried = one_by_one(task)
    offered = tried is not None and tried.offers("instances")
    instances = known_instances(task) if offered else None
    if instances is None and limit is not None:
        raise ConfigurationError(
            f"{task.name} does not offer its instances, so --limit cannot be used"
        )
    check_ids(instances or (), f"task {task.name!r}")
    if instances is None and samples > 1:
        raise ConfigurationError(
            f"samples is {samples}, and {task.name} has no `instances` and `make_environment` to "
            "draw several samples: give it these, as dataenvgym.tasks.Task has (or samples=1)"
        )
    return None if instances is None else tuple(instances)[:limit]


def check_samples(task: Task, samples: int, *, sign: str = "") -> None:
    """Refuse this number of samples if the task cannot give them, or all would be equal.

    Args:
        sign: the sign of an override of the task's sampling: "+" if the configuration has none.

    Raises:
        ConfigurationError: says which, and what to do.
    """
    if samples == 1:
        return
    if (tried := one_by_one(task)) is not None and tried.sampling.temperature == 0.0:
        raise ConfigurationError(
            f"samples is {samples} and task.sampling.temperature is 0.0: greedy answers are all "
            f"alike. Draw them ({sign}task.sampling.temperature=1.0), or take one (samples=1)"
        )


def draw_samples(
    files: EvaluationFiles,
    task: Task,
    predictor: PredictorInterface,
    instances: Sequence[TaskInstance] | None,
    samples: int,
    *,
    retry_errors: bool = False,
) -> None:
    """Draw missing samples, until the folder has `samples` of each instance.

    Args:
        instances: None if the task does not offer any; then it is evaluated once, as a whole.
        retry_errors: also draw samples with an error again.

    Raises:
        RunDirectoryError: if an existing file is damaged, or is about other problems.
    """
    tried = one_by_one(task)
    if instances is None or tried is None:
        _evaluate_whole(files, task, predictor, retry_errors=retry_errors)
        return
    files.begin_with(instances)
    chunks = files.chunks(instances)
    with counting("problems", samples * len(instances)) as counter:
        for sample in range(samples):
            for number, chunk in enumerate(chunks):
                there = files.part(sample, number).exists()
                kept = {
                    s.instance_id: s
                    for s in (files.read_part(sample, number, chunk) if there else ())
                    if s.error is None or not retry_errors
                }
                counter.skip(len(kept))
                if asked := [instance for instance in chunk if instance.id not in kept]:
                    seed = sample_seed(tried.sampling.seed, sample)
                    sampling = tried.sampling.model_copy(update={"seed": seed})
                    part = files.part(sample, number)
                    with (
                        attempts_for(files.directory.name, f"sample-{sample:03d}"),
                        metered(files, part) as completed,
                    ):
                        completed += tried.attempt(predictor, asked, sampling=sampling)
                    drawn = samples_of(tried, completed, sample=sample, seed=seed)
                    kept |= {s.instance_id: s for s in drawn}
                    save(part, [kept[instance.id] for instance in chunk])


def _evaluate_whole(
    files: EvaluationFiles,
    task: Task,
    predictor: PredictorInterface,
    *,
    retry_errors: bool,
) -> None:
    if files.has(1) and not (
        retry_errors and any(s.error is not None for s in files.read_samples(1))
    ):
        return
    name = f"task {task.name!r}"
    with metered(files, files.part(0, 0)) as completed:
        completed += evaluated_by(task, predictor)
    if not completed:
        raise EvaluationError(f"{name} evaluated no problem, expected at least one")
    check_ids([c.instance for c in completed], name)
    seed = task.sampling.seed
    files.write_instances(c.instance for c in completed)
    for number, chunk in enumerate(files.chunks(samples_of(task, completed, sample=0, seed=seed))):
        save(files.part(0, number), chunk)
