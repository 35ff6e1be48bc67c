"""The records of an engine, parsed: an engine may return models or mappings, as an agent may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dataenvgym.errors import InvalidRecordError
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.plans import Engine, Plan
from dataenvgym.records import TrainingDatum, parse_training_data


def generated(
    engine: Engine, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
) -> tuple[TrainingDatum, ...]:
    """Let `engine` write the records of the plan, and parse them.

    Raises:
        InvalidRecordError: if it does not return records; for a malformed one, naming its index
            and field.
    """
    records: object = engine.generate(plan, predictor, rng)
    if isinstance(records, str | bytes | Mapping) or not isinstance(records, Iterable):
        raise InvalidRecordError(
            f"{type(engine).__name__}.generate returned {type(records).__name__}, expected a list "
            "of training records (models or mappings)"
        )
    return parse_training_data(records)
