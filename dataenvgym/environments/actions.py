"""Parses an agent's action as training records for one training run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataenvgym.errors import InvalidActionError, InvalidRecordError
from dataenvgym.llama_factory import stage_of
from dataenvgym.records import TrainingDatum, parse_training_data


def parse_action(action: Any, *, beside: Sequence[TrainingDatum] = ()) -> tuple[TrainingDatum, ...]:
    """Parse the records of an action.

    Args:
        beside: earlier records that the same training will use.

    Raises:
        InvalidActionError: if the action is not a sequence of records.
        InvalidRecordError: if a record is malformed (the message names its index and field), or
            needs another training stage than the records before it.
    """
    if isinstance(action, str | bytes | Mapping) or not isinstance(action, Iterable):
        raise InvalidActionError(
            f"the action is {type(action).__name__}, expected a list of training records "
            "(models or mappings); does the agent return one?"
        )
    records = parse_training_data(action)
    stages = {stage_of(record): record for record in beside}
    for i, record in enumerate(records):
        stages.setdefault(stage_of(record), record)
        if len(stages) > 1:
            kinds = " and ".join(repr(r.kind) for r in stages.values())
            raise InvalidRecordError(
                f"record {i}, field kind: records of kind {kinds} need different training "
                "stages; send one stage a step (and one an episode in mode 'accumulate')",
                index=i,
                field="kind",
            )
    return records


def stamp(records: Sequence[TrainingDatum], iteration: int) -> list[TrainingDatum]:
    """Give the records ids, and write the iteration into their provenance."""
    return [_stamped(record, iteration, i) for i, record in enumerate(records)]


def _stamped(record: TrainingDatum, iteration: int, index: int) -> TrainingDatum:
    provenance = record.provenance.model_copy(
        update={"id": f"{iteration:03d}-{index:05d}", "iteration": iteration}
    )
    return record.model_copy(update={"provenance": provenance})
