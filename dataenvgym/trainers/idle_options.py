"""Options of a trainer that have no effect on the records at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.records import ScoredDatum, TrainingDatum
from dataenvgym.run_warnings import warn_run

_STAGES: Mapping[str, tuple[str, ...]] = {
    "pref_beta": ("dpo", "kto"),
    "pref_ftx": ("dpo", "kto"),
    "pref_loss": ("dpo",),
    "kto_chosen_weight": ("kto",),
    "kto_rejected_weight": ("kto",),
    "scored_reduction": ("scored",),
    "scored_clip": ("scored",),
}
_CONVERSIONS = {"scored_threshold": "sft", "scored_segment": "dpo"}


def warn_of_idle_options(
    options: TrainingConfig, records: Sequence[TrainingDatum], stage: str
) -> None:
    """Warn of options of other stages that differ from their defaults.

    Args:
        records: as the agent wrote them, before `scored_as` converts them.
        stage: the stage that trains on them.
    """
    default = TrainingConfig()
    has_scored = any(isinstance(record, ScoredDatum) for record in records)
    use = {
        name: f"for stage {' or '.join(stages)}"
        for name, stages in _STAGES.items()
        if stage not in stages
    }
    use |= {
        name: f"for scored records with scored_as={kind}"
        for name, kind in _CONVERSIONS.items()
        if not has_scored or options.scored_as != kind
    }
    if not has_scored:
        use["scored_as"] = "for scored records"
    idle = [
        f"trainer.{name}={getattr(options, name)} is {where}"
        for name, where in use.items()
        if getattr(options, name) != getattr(default, name)
    ]
    if idle:
        warn_run(
            f"options without effect, as the records are trained in stage {stage}: "
            f"{'; '.join(idle)}. Leave them out, or let the agent write such records"
        )
