"""Drawing samples: the problems are put to the student again and again, each time with its seed.

What is drawn is written at once, a file for each sample of each chunk of instances. A file that is
there is not drawn again: a killed evaluation loses one chunk of one sample at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.evaluation.files import EvaluationFiles
from dataenvgym.evaluation.samples import Sample, samples_of
from dataenvgym.interfaces import (
    EnvironmentInterface,
    PredictorInterface,
    SamplingParameters,
    TaskInterface,
)
from dataenvgym.progress import tell
from dataenvgym.records import CompletedTaskInstance, TaskInstance, check_ids
from dataenvgym.rollouts import rollout
from dataenvgym.tasks.base import sample_seed
from dataenvgym.tasks.reports import evaluated_by


@runtime_checkable
class SampledTask(TaskInterface, Protocol):
    """A task whose problems can be put to a student one by one (`dataenvgym.tasks.Task` can)."""

    sampling: SamplingParameters
    chunk_size: int
    threads: int

    def make_environment(self) -> EnvironmentInterface: ...


def draw(
    task: SampledTask,
    predictor: PredictorInterface,
    instances: Sequence[TaskInstance],
    *,
    seed: int | None = None,
    temperature: float | None = None,
) -> list[CompletedTaskInstance]:
    """One try at each instance, with the options of the task.

    Args:
        seed, temperature: None is the task's.

    Raises:
        ConfigurationError: before anything is asked, if the task knows that it cannot judge.
    """
    check_ready(task)
    changes = {"seed": seed, "temperature": temperature}
    return rollout(
        predictor,
        instances,
        task.make_environment,
        sampling=task.sampling.model_copy(
            update={name: value for name, value in changes.items() if value is not None}
        ),
        others=getattr(task, "others", None),
        chunk_size=task.chunk_size,
        threads=task.threads,
    )


def check_ready(task: SampledTask) -> None:
    """Have the task say whether it can judge, if it is one that can say so.

    Raises:
        ConfigurationError: if it cannot.
    """
    check = getattr(task, "check_ready", None)  # tasks that are no `Task` may lack it
    if check is not None:
        check()


def instances_of(
    task: TaskInterface, samples: int, limit: int | None = None
) -> Sequence[TaskInstance] | None:
    """The problems that can be put one by one, at most `limit`; None if the task offers none.

    Raises:
        ConfigurationError: if it offers none, and several samples or a limit need them; if it has
            no problems at all.
        InvalidInstanceError: if two of them have the same id.
    """
    instances = getattr(task, "instances", None) if isinstance(task, SampledTask) else None
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
    check_ids(instances, f"task {getattr(task, 'name', type(task).__name__)!r}")


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
    if not isinstance(task, SampledTask):
        raise ConfigurationError(
            f"samples is {samples}, and {type(task).__name__} has no `make_environment`, in which "
            "the student could try its problems again: use a task like dataenvgym.tasks.Task, or "
            "samples=1"
        )
    if task.sampling.temperature == 0.0:
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
    if instances is None or not isinstance(task, SampledTask):
        _evaluate_whole(files, task, predictor, retry_errors=retry_errors)
        return
    files.begin_with(instances)
    chunks = files.chunks(instances)
    for sample in range(samples):
        for number, chunk in enumerate(chunks):
            kept = _kept(files, sample, number, chunk, retry_errors=retry_errors)
            if asked := [instance for instance in chunk if instance.id not in kept]:
                tell(f"sample {sample + 1} of {samples}, chunk {number + 1} of {len(chunks)}")
                seed = sample_seed(task.sampling.seed, sample)
                completed = draw(task, predictor, asked, seed=seed)
                drawn = samples_of(task, completed, sample=sample, seed=seed)
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
        name = getattr(task, "name", type(task).__name__)
        raise EvaluationError(f"task {name!r} evaluated no problem, expected at least one")
    _check_ids(task, [c.instance for c in completed])
    seed = getattr(task, "sampling", SamplingParameters()).seed
    files.write_instances(c.instance for c in completed)
    for number, chunk in enumerate(files.chunks(samples_of(task, completed, sample=0, seed=seed))):
        files.write_part(0, number, chunk)
