"""Chooses the problem of an episode: the one named in the options of `reset`, or a random one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dataenvgym.errors import InvalidInstanceError, did_you_mean
from dataenvgym.records import TaskInstance

OPTIONS = ("instance", "instance_id")
"""Options of `reset`: a TaskInstance, or the id of one."""


def chosen_instance(
    instances: Sequence[TaskInstance], options: Mapping[str, Any], rng: np.random.Generator
) -> TaskInstance:
    """The problem named in the options, or one that `rng` picks.

    Raises:
        InvalidInstanceError: if that problem does not exist, or there are none at all.
    """
    if "instance" in options:
        instance = options["instance"]
        if not isinstance(instance, TaskInstance):
            raise InvalidInstanceError(
                f"option 'instance' is {instance!r}, expected a TaskInstance"
            )
        return instance
    if not instances:
        raise InvalidInstanceError(
            "there are no instances to pick from: make the environment with some, or call "
            "reset(options={'instance': ...})"
        )
    if "instance_id" not in options:
        return instances[int(rng.integers(len(instances)))]
    wanted = options["instance_id"]
    for instance in instances:
        if instance.id == wanted:
            return instance
    hint = did_you_mean(str(wanted), (instance.id for instance in instances))
    raise InvalidInstanceError(f"there is no instance with id {wanted!r}.{hint}")
