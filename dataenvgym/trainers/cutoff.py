"""Records that are longer than `cutoff_len`, and are cut: a warning, or an error if all are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, DatasetFormatError, TrainingError
from dataenvgym.llama_factory import TrainingConfig, read_dataset, stage_of
from dataenvgym.run_warnings import warn_run
from dataenvgym.trainers import examples
from dataenvgym.trainers.examples import Example, Pair


def check_cut(found: Sequence[Example], cutoff: int, *, are_texts: bool = False) -> None:
    """Warn of records that are cut: an evaluation shows the whole prompt.

    Args:
        are_texts: plain texts, of which a part is as good as the whole.

    Raises:
        TrainingError: if all records are cut, and they are not texts.
    """
    cut = [len(example.tokens) + example.n_cut for example in found if example.n_cut]
    if not cut:
        return
    facts = (
        f"{len(cut)} of {len(found)} records are longer than cutoff_len ({cutoff} tokens) and are "
        f"cut; the longest has {max(cut)} tokens"
    )
    if len(cut) == len(found) and not are_texts:
        raise TrainingError(
            f"{facts}, the shortest {min(cut)}. No record would be learned whole: set "
            f"trainer.cutoff_len={max(cut)} or higher, or shorten the prompt (the system prompt, "
            "or the tools that it declares)"
        )
    warn_run(f"{facts}: set trainer.cutoff_len higher to learn them whole")


def longer_sides(pairs: Sequence[Pair]) -> list[Example]:
    """The answer of each pair that loses more tokens."""
    return [max(pair.chosen, pair.rejected, key=lambda side: side.n_cut) for pair in pairs]


def check_before(config: TrainingConfig) -> None:
    """Check for cut records before LLaMA-Factory, which does not report them, trains on them.

    It counts with the student's tokenizer and chat template. It cannot count, and does nothing,
    if transformers or the student's files are not on this machine, for a `template` of
    LLaMA-Factory, and for a dataset in another format than ours.

    Raises:
        TrainingError: if all records are cut.
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
            found = _examples(stage, records, tokenizer, config.cutoff_len)
            check_cut(found, config.cutoff_len, are_texts=stage == "pt")


def _examples(stage: str, records: Any, tokenizer: Any, cutoff: int) -> list[Example]:
    if stage == "sft":
        return examples.supervised_examples(records, tokenizer, cutoff)
    if stage == "pt":
        return examples.text_examples(records, tokenizer, cutoff, packing=False)
    if stage == "dpo":
        return longer_sides(examples.preference_examples(records, tokenizer, cutoff))
    judged = examples.judged_examples(records, tokenizer, cutoff)
    return [one.example for one in judged]
