"""What an episode is about: `environment.json`, and the refusal to go on with another one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from dataenvgym.errors import RunDirectoryError
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.secrets import without_secrets
from dataenvgym.storage import read_json, write_json


def identity_of(
    environment: str,
    task: TaskInterface,
    predictor: PredictorInterface,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Everything that determines an episode, as JSON.

    A task that has `instances` is known by them, a predictor that has `describe()` by what it
    says (for the in-process one: the hash of the student's weights, and the trainer's options).
    """
    identity = {
        "environment": environment,
        "task": getattr(task, "name", type(task).__name__),
        "instances": _instances_hash(task),
        **options,
    }
    if describe := getattr(predictor, "describe", None):
        identity["predictor"] = describe()
    hidden: dict[str, Any] = without_secrets(identity)
    return hidden


def write_identity(directory: Path, identity: dict[str, Any]) -> None:
    """Write `environment.json`."""
    write_json(directory / "environment.json", identity)


def read_identity(directory: Path) -> dict[str, Any] | None:
    """What `environment.json` says; None if there is none.

    Raises:
        RunDirectoryError: if it is damaged.
    """
    path = directory / "environment.json"
    if not path.exists():
        return None
    try:
        identity = read_json(path)
    except ValueError as error:
        raise RunDirectoryError(f"{path} is damaged ({error}); start afresh") from error
    if not isinstance(identity, dict):
        raise RunDirectoryError(f"{path} is damaged (no JSON object); start afresh")
    return identity


def refuse_another(directory: Path, identity: dict[str, Any]) -> None:
    """Compare with the `environment.json` that stands there, if any.

    Raises:
        RunDirectoryError: naming the first thing that differs.
    """
    before = read_identity(directory) or identity
    for key in sorted({*before, *identity}):
        if before.get(key) != identity.get(key):
            raise RunDirectoryError(
                f"{directory} was begun with {key} = {before.get(key)!r}, "
                f"not {identity.get(key)!r}; go back to that, or start afresh"
            )


def _instances_hash(task: TaskInterface) -> str | None:
    instances = getattr(task, "instances", None)
    if instances is None:
        return None
    digest = hashlib.sha256()
    for instance in instances:
        digest.update(instance.model_dump_json().encode())
    return digest.hexdigest()[:16]
