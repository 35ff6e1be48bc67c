"""Saves and restores the state of an agent or an engine as JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import AgentError, RunDirectoryError
from dataenvgym.interfaces import Stateful
from dataenvgym.storage import read_json
from dataenvgym.workspace import naming_damage


def state_of(thing: Stateful) -> dict[str, Any]:
    """The result of `state_dict()`; AgentError if it is not a dict that JSON restores unchanged."""
    state: Any = thing.state_dict()
    whose = f"state_dict() of {type(thing).__name__}"
    if not isinstance(state, dict):
        raise AgentError(f"{whose} returned a {type(state).__name__}, expected a dict")
    if (odd := _not_finite(state)) is not None:
        raise AgentError(f"{whose}: {odd}, which JSON does not have; expected a finite number")
    try:
        exact_json.dumps(state)
    except (TypeError, ValueError) as error:
        raise AgentError(
            f"{whose} cannot be saved as JSON ({error}): expected a dict of texts, numbers, "
            "booleans, None, lists and dicts"
        ) from error
    return state


def read_state(path: Path) -> dict[str, Any]:
    """Read the state in the file; RunDirectoryError if it is missing or damaged."""
    way_out = "without it, a resumed run would differ; restore it, or start the run over"
    if not path.exists():
        raise RunDirectoryError(f"{path} is missing: {way_out}")
    with naming_damage(path, way_out):
        if not isinstance(state := read_json(path), dict):
            raise ValueError("it is not a JSON object")
    return state


def _not_finite(value: Any, name: str = "") -> str | None:
    """Describe the first NaN or infinite number; None if there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{name} is {value}"
    if isinstance(value, dict):
        named = [(f"{name}.{key}" if name else str(key), part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        named = [(f"{name}[{i}]", part) for i, part in enumerate(value)]
    else:
        return None
    return next((odd for n, part in named if (odd := _not_finite(part, n)) is not None), None)
