"""Pressures: changes to a task's data that reward some strategies more than others.

A pressure changes which problems a task has, how attempts at them are judged, which results the
agent sees, or which training records reach the student. It is an option of any task, by name or
with options of its own:

    dataenvgym run task=pocket_code task.pressure=traps
    dataenvgym run task=teach/traps task.pressure.share=0.4

Policies, engines and environments do not know it; they see its effects. It has no state: it draws
only from `seed` and the data, and is given the records of earlier iterations, so a resumed run, a
trial and another machine see the same.

pressure        the base class
of_problems     pressures on problems, and on the results that the agent sees
of_records      pressures on the records that reach the student
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from dataenvgym.errors import ConfigurationError, check_one_of, first_fault
from dataenvgym.tasks.pressures.of_problems import Drift, Hidden, Skewed, Traps
from dataenvgym.tasks.pressures.of_records import (
    Interference,
    NoisyTeacher,
    Plateau,
    Prerequisites,
    Priced,
    Scarce,
)
from dataenvgym.tasks.pressures.pressure import Pressure

__all__ = [
    "PRESSURES",
    "Drift",
    "Hidden",
    "Interference",
    "NoisyTeacher",
    "Plateau",
    "Prerequisites",
    "Pressure",
    "Priced",
    "Scarce",
    "Skewed",
    "Traps",
    "pressure_of",
]

PRESSURES: Mapping[str, type[Pressure]] = {
    "scarce": Scarce,
    "traps": Traps,
    "prerequisites": Prerequisites,
    "interference": Interference,
    "skewed": Skewed,
    "noisy_teacher": NoisyTeacher,
    "hidden": Hidden,
    "priced": Priced,
    "drift": Drift,
    "plateau": Plateau,
}
"""The pressures by name."""


def pressure_of(given: Any) -> Pressure | None:
    """The pressure that an option of a task names; None for none.

    Args:
        given: a pressure, its name, or its name with its options: `{"traps": {"share": 0.4}}`.

    Raises:
        ConfigurationError: if there is no such pressure, or it lacks such an option.
    """
    if given is None or isinstance(given, Pressure):
        return given
    if isinstance(given, str):
        given = {given: {}}
    if not isinstance(given, Mapping) or len(given) != 1:
        raise ConfigurationError(
            f"pressure is {given!r}, expected the name of one, such as traps, or its name with its "
            f"options, such as {{traps: {{share: 0.4}}}}. The names are: {', '.join(PRESSURES)}"
        )
    ((name, options),) = given.items()
    check_one_of(PRESSURES, pressure=name)
    try:
        return PRESSURES[name].model_validate({} if options is None else options)
    except ValidationError as error:
        raise ConfigurationError(first_fault(error, f"pressure.{name}")) from None
