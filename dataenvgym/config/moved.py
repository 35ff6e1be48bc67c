"""Our classes that have moved, for old folders whose `config.yaml` has the former names."""

from __future__ import annotations

from typing import Any

_MOVED = {
    "dataenvgym.predictors.SimulatedPredictor": "dataenvgym.simulation.SimulatedPredictor",
    "dataenvgym.agents.ExecutionPreferenceEngine": "dataenvgym.agents.PreferenceEngine",
}
_HASHED_AS = {
    "dataenvgym.simulation.SimulatedPredictor": "dataenvgym.predictors.SimulatedPredictor"
}
"""The name of a moved class in the hash of a default run name, so that run names stay the same."""


def with_moved(value: Any) -> Any:
    """Replace the former names of moved classes in a configuration of plain data."""
    if isinstance(value, dict):
        return {
            k: _MOVED.get(v, v) if _is_target(k, v) else with_moved(v) for k, v in value.items()
        }
    return [with_moved(one) for one in value] if isinstance(value, list) else value


def moved_from(value: Any) -> Any:
    """The name of a class for hashes; any other value unchanged."""
    return _HASHED_AS.get(value, value) if isinstance(value, str) else value


def _is_target(key: Any, value: Any) -> bool:
    return key == "_target_" and isinstance(value, str)
