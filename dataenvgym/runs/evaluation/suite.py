"""Several evaluations with one command: a suite (see `config.suites`).

Each is an ordinary evaluation in a folder of its own, so a killed suite resumes at the file of
samples that it was drawing, and its parts may be run one by one. All parts are prepared, and their
problems loaded, before any student is asked. Evaluations of the same student share it, with its
server.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack, cast

from omegaconf import OmegaConf

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.runs.config.instantiation import section_target
from dataenvgym.runs.config.overrides import quoted
from dataenvgym.runs.config.suites import evaluations_of
from dataenvgym.runs.evaluation.running import (
    Evaluation,
    EvaluationOptions,
    Prepared,
    prepare_evaluation,
    run_prepared,
)
from dataenvgym.tasks.metrics.sampling import instances_of


@dataclass(frozen=True)
class Part:
    """A part of a suite that was run.

    Attributes:
        task: the name of its task.
        directory: its folder.
        evaluation: the result; None if it could not be run to its end.
        error: why there is no score; None if there is one.
    """

    task: str
    directory: Path
    evaluation: Evaluation | None
    error: DataEnvGymError | None = None


def prepare_suite(overrides: Sequence[str], **options: Unpack[EvaluationOptions]) -> list[Prepared]:
    """Check and prepare the evaluations that the overrides name; see `run_suite`."""
    each = evaluations_of(overrides, options.get("config_dir"))
    if len(each) > 1:
        each = [_in_a_folder(part) for part in each]
    prepared = [prepare_evaluation(part, **options) for part in each]
    directories = [one.directory for one in prepared]
    for one in prepared:
        if directories.count(one.directory) > 1:
            raise ConfigurationError(
                f"task {one.task.name!r} is named twice with the same options: leave one "
                "of them out"
            )
    if len(prepared) > 1:
        for one in prepared:
            instances_of(one.task, int(one.settings.samples), options.get("limit"))
    return prepared


def run_suite(
    overrides: Sequence[str],
    *,
    retry_errors: bool = False,
    on_begin: Callable[[Path], object] = lambda directory: None,
    **options: Unpack[EvaluationOptions],
) -> Iterator[Part]:
    """Run or resume the evaluations that the overrides name, one after another.

    A part that fails does not keep the others from being run.

    Args:
        overrides: such as "suite=pocket", or "task=gsm8k:4,humaneval"; `name` is the folder of all
            parts in `evaluations_dir`.
        retry_errors, on_begin, options: as for `run_evaluation`.

    Raises:
        ConfigurationError, RunDirectoryError: before any student is asked, as `run_evaluation`.
    """
    prepared = prepare_suite(overrides, **options)
    students = _SharedStudent()
    for one in prepared:
        evaluation: Evaluation | None = None
        failed: DataEnvGymError | None = None
        try:
            evaluation = run_prepared(
                one, options, retry_errors=retry_errors, on_begin=on_begin, build=students.of
            )
            _ = evaluation.report
        except DataEnvGymError as error:
            failed = error
        yield Part(one.task.name, one.directory, evaluation, failed)


def _in_a_folder(part: Sequence[str]) -> list[str]:
    """The overrides with the name as the folder of all parts."""
    given = {text.partition("=")[0]: text.partition("=")[2].strip("'\"") for text in part}
    if (name := given.get("name")) is None:
        return list(part)
    folder = f"{given.get('evaluations_dir', 'evaluations')}/{name}"
    rest = [text for text in part if text.partition("=")[0] not in ("name", "evaluations_dir")]
    return [*rest, f"evaluations_dir={quoted(folder)}"]


class _SharedStudent:
    """The student of the latest evaluation, for the next one if it has the same."""

    def __init__(self) -> None:
        self._key: object = None
        self._predictor: PredictorInterface | None = None

    def of(self, prepared: Prepared) -> PredictorInterface:
        """The student of a prepared evaluation; another one before it is closed."""
        values = cast(dict[str, object], OmegaConf.to_container(prepared.config, resolve=True))
        names = ["predictor", "trainer"]
        predictor = section_target(prepared.config, "predictor")
        if "task" in inspect.signature(predictor).parameters:
            names.append("task")
        key = prepared.student, [values[name] for name in names]
        if self._predictor is None or key != self._key:
            close = getattr(self._predictor, "close", None)
            self._predictor = None
            if close is not None:
                close()
            self._key, self._predictor = key, prepared.student.build(prepared.config)
        return self._predictor
