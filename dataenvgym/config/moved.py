"""Classes of ours that have moved, for folders whose `config.yaml` names where they were."""

from __future__ import annotations

from typing import Any

_MOVED = {
    "dataenvgym.predictors.SimulatedPredictor": "dataenvgym.simulation.SimulatedPredictor",
    "dataenvgym.agents.ExecutionPreferenceEngine": "dataenvgym.agents.PreferenceEngine",
}
_HASHED_AS = {
    "dataenvgym.simulation.SimulatedPredictor": "dataenvgym.predictors.SimulatedPredictor"
}
"""By which name a moved class is in the hash of a default name, so that the name stays."""


def with_moved(value: Any) -> Any:
    """A configuration as plain data, with each moved class where it is now."""
    if isinstance(value, dict):
        return {
            k: _MOVED.get(v, v) if _is_target(k, v) else with_moved(v) for k, v in value.items()
        }
    return [with_moved(one) for one in value] if isinstance(value, list) else value


def moved_from(value: Any) -> Any:
    """The name of a class as hashes know it; any other value as it is."""
    return _HASHED_AS.get(value, value) if isinstance(value, str) else value


def _is_target(key: Any, value: Any) -> bool:
    return key == "_target_" and isinstance(value, str)
