"""Drawing samples: the problems are put to the student again and again, each time with its seed.

What is drawn is written at once, a file for each sample of each chunk of instances. A file that is
there is not drawn again: a killed evaluation loses one chunk of one sample at most.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.evaluation.files import EvaluationFiles
from dataenvgym.evaluation.samples import Sample, samples_of
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.progress import counting
from dataenvgym.records import TaskInstance, check_ids
from dataenvgym.tasks.adapted import evaluated_by, known_instances, one_by_one, task_of
from dataenvgym.tasks.base import sample_seed
from dataenvgym.tasks.purposes import attempts_for


def instances_of(
    task: TaskInterface, samples: int, limit: int | None = None
) -> Sequence[TaskInstance] | None:
    """The problems that can be put one by one, at most `limit`; None if the task offers none.

    Raises:
        ConfigurationError: if it offers none, and several samples or a limit need them; if it has
            no problems at all.
        InvalidInstanceError: if two of them have the same id.
    """
    tried = one_by_one(task)
    offered = tried is not None and tried.offers("instances")
    instances = known_instances(task) if offered else None
    if instances is None and limit is not None:
        raise ConfigurationError(
            f"{type(task).__name__} does not offer its instances, so --limit cannot be"
        )
    if instances is not None and not len(instances):
        raise ConfigurationError(f"{type(task).__name__} has no problems, so none can be put")
    _check_ids(task, instances or ())
    _check_offered(task, instances, samples)
    return None if instances is None else tuple(instances)[:limit]


def _check_ids(task: TaskInterface, instances: Sequence[TaskInstance]) -> None:
    check_ids(instances, f"task {task_of(task).name!r}")


def _check_offered(
    task: TaskInterface, instances: Sequence[TaskInstance] | None, samples: int
) -> None:
    if instances is None and samples > 1:
        raise ConfigurationError(
            f"samples is {samples}, and {type(task).__name__} has no `instances`, of which several "
            "samples could be drawn: give it some, as dataenvgym.tasks.Task has, or take one "
            "(samples=1)"
        )


def check_samples(task: TaskInterface, samples: int, *, sign: str = "") -> None:
    """Refuse so many samples if the task cannot give them, or they would all be alike.

    Args:
        sign: what an option of the task's sampling takes: "+" where the configuration has none.

    Raises:
        ConfigurationError: saying which, and the way out.
    """
    if samples < 1:
        raise ConfigurationError(f"samples is {samples}, expected 1 or more")
    if samples == 1:
        return
    if (tried := one_by_one(task)) is None:
        raise ConfigurationError(
            f"samples is {samples}, and {type(task).__name__} has no `make_environment`, in which "
            "the student could try its problems again: use a task like dataenvgym.tasks.Task, or "
            "samples=1"
        )
    if tried.sampling.temperature == 0.0:
        raise ConfigurationError(
            f"samples is {samples} and task.sampling.temperature is 0.0: greedy answers are all "
            f"alike. Draw them ({sign}task.sampling.temperature=1.0), or take one (samples=1)"
        )


def draw_samples(
    files: EvaluationFiles,
    task: TaskInterface,
    predictor: PredictorInterface,
    instances: Sequence[TaskInstance] | None,
    samples: int,
    *,
    retry_errors: bool = False,
) -> None:
    """Draw what the folder lacks, until it has so many samples of each instance.

    Args:
        instances: None where the task does not offer any: then it is evaluated as a whole, once.
        retry_errors: draw the samples with an error again, too.

    Raises:
        ConfigurationError: as `check_samples`, or if several samples are to be drawn of a task
            that does not offer its instances.
        RunDirectoryError: if a file that is there is damaged, or is about other problems.
    """
    check_samples(task, samples)
    _check_offered(task, instances, samples)
    tried = one_by_one(task)
    if instances is None or tried is None:
        _evaluate_whole(files, task, predictor, retry_errors=retry_errors)
        return
    files.begin_with(instances)
    chunks = files.chunks(instances)
    with counting("problems", samples * len(instances)) as counter:
        for sample in range(samples):
            for number, chunk in enumerate(chunks):
                kept = _kept(files, sample, number, chunk, retry_errors=retry_errors)
                counter.skip(len(kept))
                if asked := [instance for instance in chunk if instance.id not in kept]:
                    seed = sample_seed(tried.sampling.seed, sample)
                    sampling = tried.sampling.model_copy(update={"seed": seed})
                    with attempts_for(files.directory.name, f"sample-{sample:03d}"):
                        completed = tried.attempt(predictor, asked, sampling=sampling)
                    drawn = samples_of(tried, completed, sample=sample, seed=seed)
                    kept |= {s.instance_id: s for s in drawn}
                    files.write_part(sample, number, (kept[instance.id] for instance in chunk))


def _kept(
    files: EvaluationFiles,
    sample: int,
    number: int,
    chunk: Sequence[TaskInstance],
    *,
    retry_errors: bool,
) -> dict[str, Sample]:
    """The samples of that file, by instance, that need not be drawn."""
    if not files.part(sample, number).exists():
        return {}
    there = files.read_part(sample, number, chunk)
    return {s.instance_id: s for s in there if s.error is None or not retry_errors}


def _evaluate_whole(
    files: EvaluationFiles,
    task: TaskInterface,
    predictor: PredictorInterface,
    *,
    retry_errors: bool,
) -> None:
    if files.has(1) and not (
        retry_errors and any(s.error is not None for s in files.read_samples(1))
    ):
        return
    if not (completed := evaluated_by(task, predictor)):
        name = task_of(task).name
        raise EvaluationError(f"task {name!r} evaluated no problem, expected at least one")
    _check_ids(task, [c.instance for c in completed])
    seed = task_of(task).sampling.seed
    files.write_instances(c.instance for c in completed)
    for number, chunk in enumerate(files.chunks(samples_of(task, completed, sample=0, seed=seed))):
        files.write_part(0, number, chunk)
