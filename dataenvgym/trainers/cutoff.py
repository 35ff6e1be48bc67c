"""Warnings of records that are longer than `cutoff_len`, and are cut."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, DatasetFormatError
from dataenvgym.llama_factory import TrainingConfig, read_dataset, stage_of
from dataenvgym.run_warnings import warn_run
from dataenvgym.trainers import examples
from dataenvgym.trainers.examples import Example, Pair


def warn_of_cut(found: Sequence[Example], cutoff: int) -> None:
    """Warn of records that have no room: an evaluation shows the whole prompt."""
    if cut := [example for example in found if example.n_cut]:
        longest = max(len(example.tokens) + example.n_cut for example in cut)
        warn_run(
            f"{len(cut)} of {len(found)} records are longer than cutoff_len ({cutoff} tokens) and "
            f"are cut; the longest has {longest} tokens: set trainer.cutoff_len higher to learn "
            "them whole"
        )


def longer_sides(pairs: Sequence[Pair]) -> list[Example]:
    """The answer of each pair that loses more tokens."""
    return [max(pair.chosen, pair.rejected, key=lambda side: side.n_cut) for pair in pairs]


def warn_before(config: TrainingConfig) -> None:
    """Warn of cut records before LLaMA-Factory, which does not report them, trains on them.

    It counts with the student's tokenizer and chat template. It cannot count, and does not warn,
    if transformers or the student's files are not on this machine, for a `template` of
    LLaMA-Factory, and for a dataset in another format than ours.
    """
    student, folder, names = config.model_name_or_path, config.dataset_dir, config.dataset
    if not (student and folder and names) or config.template is not None or config.packing:
        return
    with suppress(ImportError, ConfigurationError, DatasetFormatError):
        from dataenvgym.trainers.student import load_tokenizer

        tokenizer = load_tokenizer(student, download=False)
        records = list(read_dataset(Path(folder), names))
        stage = "dpo" if config.stage == "rm" else config.stage
        if all(stage_of(record) == stage for record in records):
            warn_of_cut(_examples(stage, records, tokenizer, config.cutoff_len), config.cutoff_len)


def _examples(stage: str, records: Any, tokenizer: Any, cutoff: int) -> list[Example]:
    if stage == "sft":
        return examples.supervised_examples(records, tokenizer, cutoff)
    if stage == "pt":
        return examples.text_examples(records, tokenizer, cutoff, packing=False)
    if stage == "dpo":
        return longer_sides(examples.preference_examples(records, tokenizer, cutoff))
    judged = examples.judged_examples(records, tokenizer, cutoff)
    return [one.example for one in judged]
