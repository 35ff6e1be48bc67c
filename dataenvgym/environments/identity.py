"""The identity of an episode (`environment.json`): a run with another identity is not continued.

The file also has the versions of the packages that affect results, and the format of the folder
(see `workspace`). A run with other package versions is continued with a warning.
"""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dataenvgym.errors import RunDirectoryError
from dataenvgym.events import warn_run, without_secrets
from dataenvgym.interfaces import Describes, PredictorInterface, TaskInterface
from dataenvgym.records import hashed_json
from dataenvgym.storage import read_json, write_json
from dataenvgym.tasks.adapted_task import known_instances, task_of
from dataenvgym.tasks.rollouts import describe_speakers
from dataenvgym.workspace import FORMAT, naming_damage, refuse_format

PACKAGES = ("dataenvgym", "torch", "transformers", "peft", "tokenizers", "numpy")
"""Packages of this process whose versions affect results."""
_VERSIONS = "versions"
_ALWAYS = {"environment", "task"}


def identity_of(
    environment: str,
    task: TaskInterface,
    predictor: PredictorInterface,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Collect everything that determines an episode, as JSON.

    A task with `instances` is identified by their hash, and its worked examples by theirs. A
    predictor with `describe()` is identified by its result (for the in-process one: the hash of the
    student's weights, and the trainer's options), and so are the task's other speakers.
    """
    instances: str | None = None
    if task_of(task).offers("instances"):
        hashed = b"".join(map(hashed_json, known_instances(task)))
        instances = hashlib.sha256(hashed).hexdigest()[:16]
    identity = {
        "environment": environment,
        "task": task_of(task).name,
        "instances": instances,
        **options,
    }
    if (pressure := task_of(task).pressure) is not None:
        identity["pressure"] = pressure.describe()
        if not task_of(task).pressure_on_records:
            identity["pressure_on_records"] = False
    if (examples := task_of(task).examples) is not None:
        shown = f"{task_of(task).examples_for} {examples.model_dump_json()}"
        identity["examples"] = hashlib.sha256(shown.encode()).hexdigest()[:16]
    if others := task_of(task).others:
        identity["others"] = describe_speakers(others)
    if isinstance(predictor, Describes):
        identity["predictor"] = predictor.describe()
    hidden: dict[str, Any] = without_secrets(identity)
    return hidden


def write_identity(directory: Path, identity: dict[str, Any]) -> None:
    """Write `environment.json`, with the current format and package versions."""
    today = {"format": FORMAT, _VERSIONS: installed_versions()}
    write_json(directory / "environment.json", {**identity, **today})


def read_identity(directory: Path) -> dict[str, Any] | None:
    """Read `environment.json`; None if there is none.

    Raises:
        RunDirectoryError: if it is damaged; FormatError: if another version wrote it.
    """
    path = directory / "environment.json"
    if not path.exists():
        return None
    with naming_damage(path, "restore it, or start over"):
        identity = read_json(path)
        if not isinstance(identity, dict) or not identity.keys() >= _ALWAYS:
            raise ValueError(f"it is not a JSON object with {', '.join(sorted(_ALWAYS))}")
        refuse_format(path, identity)
    return identity


def refuse_another(directory: Path, identity: dict[str, Any]) -> None:
    """Compare with the `environment.json` of an existing episode; warn of other versions.

    Raises:
        RunDirectoryError: if the file is missing or anything differs; names the first difference.
    """
    before = read_identity(directory)
    if before is None:
        raise RunDirectoryError(
            f"{directory / 'environment.json'} is missing, so it is unknown whether student "
            "and problems are still the same; restore it, or start over"
        )
    before.pop("format", None)
    then, now = before.pop(_VERSIONS, None), installed_versions()
    if isinstance(then, dict) and then != now:
        changes = (
            f"{name} {then.get(name, '(none)')} -> {now.get(name, '(none)')}"
            for name in sorted({*then, *now})
            if then.get(name) != now.get(name)
        )
        warn_run(
            f"{directory.name} was begun with other versions ({', '.join(changes)}): its results "
            "may differ from those of a run with one version throughout"
        )
    for key in sorted({*before, *identity}):
        if before.get(key) != identity.get(key):
            raise RunDirectoryError(
                f"{directory} was begun with {key} = {before.get(key)!r}, "
                f"not {identity.get(key)!r} (see environment.json); go back to that, or start over"
            )


def installed_versions() -> dict[str, str]:
    """The versions of Python and of the installed ones of `PACKAGES`."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
