"""Options that a trainer would ignore: none of them is ignored silently.

The in-process trainer refuses stages and options of LLaMA-Factory that it does not support, by
name. Options that have no effect on the records at hand get a warning, with any trainer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataenvgym.errors import (
    ConfigurationError,
    DatasetFormatError,
    TrainingError,
    UnsupportedStageError,
)
from dataenvgym.events import warn_run
from dataenvgym.records import ScoredDatum, TrainingDatum
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset, stage_of
from dataenvgym.students.trainers import examples
from dataenvgym.students.trainers.examples import Example, Pair, Scored

STAGES = ("sft", "pt", "dpo", "kto", "scored")

# Supported options without a field in `TrainingConfig` ...
EXTRA = (
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "train_on_prompt",
    "warmup_ratio",
    "ref_model",
    "ref_model_adapters",
    "preprocessing_num_workers",
    "pure_bf16",
)
_FLAGS = ("train_on_prompt", "pure_bf16")
_NUMBERS = ("adam_beta1", "adam_beta2", "adam_epsilon", "warmup_ratio", "preprocessing_num_workers")
# ... and those that do not change the training.
_WITHOUT_EFFECT = (
    "plot_loss",
    "save_steps",
    "save_only_model",
    "save_total_limit",
    "ddp_timeout",
    "dataloader_num_workers",
    "logging_dir",
    "logging_first_step",
    "run_name",
    "disable_tqdm",
    "disable_gradient_checkpointing",
    "trust_remote_code",
)


def refuse_unsupported(config: TrainingConfig, *, stages: Sequence[str] = ()) -> None:
    """Raise UnsupportedStageError for an unsupported stage or option.

    Args:
        stages: those for which the options are meant; by default, the stage in the options.
    """
    if config.stage not in STAGES:
        raise UnsupportedStageError(
            f"stage is {config.stage!r}, expected one of {', '.join(STAGES)}: the in-process "
            "trainer has no other; LLaMA-Factory itself has"
        )
    options = {**config.options(), **config.extra}
    wrong = _wrong(config, stages or (config.stage,))
    if stages:  # typed by a user; a file for LLaMA-Factory may have them, with their defaults
        typed = {"save_strategy": "no", "report_to": "none", "template": None}
        wrong |= {n: repr(v) for n, v in typed.items() if getattr(config, n) != v}
    unknown = sorted(set(config.extra) - {*EXTRA, *_WITHOUT_EFFECT})
    wrong |= dict.fromkeys(unknown, f"none, or one of {', '.join(sorted(EXTRA))}")
    for name, expected in wrong.items():
        raise UnsupportedStageError(
            f"{name} is {options[name]!r}, expected {expected}: the in-process trainer has no "
            "other; LLaMA-Factory itself has"
        )


def _wrong(config: TrainingConfig, stages: Sequence[str]) -> dict[str, str]:
    """The options with a value that no stage supports, and the supported values."""
    for name, value in config.extra.items():
        is_flag = isinstance(value, bool)
        if (name in _FLAGS) > is_flag or (name in _NUMBERS) > (type(value) in (int, float)):
            return {name: "True or False" if name in _FLAGS else "a number"}
    # LLaMA-Factory then draws answers, or fills blocks, within each worker's share of the records
    has_shares = extra_number(config, "preprocessing_num_workers", 1) > 1
    is_shared = has_shares and (
        set(stages) == {"kto"} or (config.packing and set(stages) == {"pt"})
    )
    student, reference = config.model_name_or_path, config.extra.get("ref_model")
    checks = (
        ("do_train", not config.do_train, "True"),
        ("finetuning_type", config.finetuning_type != "lora", "'lora'"),
        ("use_dora", config.use_dora, "False"),
        ("quantization_bit", config.quantization_bit is not None, "none"),
        ("deepspeed", config.deepspeed is not None, "none"),
        ("template", config.template not in (None, "empty"), "none (it uses the tokenizer's own)"),
        ("packing", config.packing and "pt" not in stages, "False outside stage 'pt'"),
        ("preprocessing_num_workers", is_shared, "1 in stage 'kto', and in 'pt' with packing"),
        ("fp16", config.fp16, "False (bf16 is there)"),
        ("pure_bf16", config.extra.get("pure_bf16"), "False (bf16 is there)"),
        ("pref_loss", config.pref_loss != "sigmoid", "'sigmoid'"),
        ("pref_ftx", config.pref_ftx and set(stages) == {"kto"}, "0 in stage 'kto'"),
        ("ref_model", student and reference not in (None, student), "the student itself"),
    )
    return {name: expected for name, is_wrong, expected in checks if is_wrong}


def extra_number(config: TrainingConfig, name: str, default: float) -> float:
    """A number among the options that are not fields of `TrainingConfig`."""
    value: Any = config.extra.get(name, default)
    return float(value)


_BOTH = ("pref_beta", "pref_ftx")  # for stage `kto`, too
_PREFIXES = {"pref_": "dpo", "kto_": "kto", "scored_": "scored"}
_CONVERSIONS = {"scored_threshold": "sft", "scored_segment": "dpo"}  # and `scored_as` itself


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
        name: f"for stage {own}"
        for prefix, own in _PREFIXES.items()
        for name in TrainingConfig.model_fields
        if name.startswith(prefix) and name not in ("scored_as", *_CONVERSIONS)
        if stage != own and not (stage == "kto" and name in _BOTH)
    }
    use |= {
        name: f"for scored records with scored_as={kind}"
        for name, kind in _CONVERSIONS.items()
        if not has_scored or options.scored_as != kind
    }
    if options.curriculum is not None:
        use["num_train_epochs"] = "for trainings without a curriculum (its sections have epochs)"
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


def check_cut(found: Sequence[Any], cutoff: int, *, are_texts: bool = False) -> None:
    """Warn of records that are cut: an evaluation shows the whole prompt.

    Args:
        found: from `examples_of`; of a pair, the side that loses more tokens counts.
        are_texts: plain texts, of which a part is as good as the whole.

    Raises:
        TrainingError: if all records are cut, and they are not texts.
    """
    whole: list[Example] = [
        max(one.chosen, one.rejected, key=lambda side: side.n_cut)
        if isinstance(one, Pair)
        else getattr(one, "example", one)
        for one in found
    ]
    cut = [len(one.tokens) + one.n_cut for one in whole if one.n_cut]
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


def kept_turns(records: Sequence[ScoredDatum], tokenizer: Any, cutoff: int) -> list[Scored]:
    """The examples of scored records that keep a turn; warns of turns that do not fit.

    Raises:
        TrainingError: if no record keeps a turn.
    """
    found = examples.scored_examples(records, tokenizer, cutoff)
    kept = [scored for scored in found if scored.weights]
    n_turns = sum(len(record.weights) for record in records)
    lost = n_turns - sum(len(scored.weights) for scored in kept)
    if not kept:
        raise TrainingError(
            f"cutoff_len is {cutoff}, and no scored record has its first turn within so many "
            "tokens: set cutoff_len higher"
        )
    if lost:
        warn_run(
            f"{lost} of {n_turns} turns of scored records lie behind cutoff_len ({cutoff} tokens) "
            f"and teach nothing, {len(found) - len(kept)} of {len(found)} records with all their "
            "turns; set cutoff_len higher to keep them"
        )
    return kept


def check_before(config: TrainingConfig) -> None:
    """Check for cut records before LLaMA-Factory, which does not report them, trains on them.

    It counts with the student's tokenizer and chat template. It cannot count, and does nothing,
    if transformers or the student's files are not on this machine, for another `template` of
    LLaMA-Factory than "empty", and for a dataset in another format than ours.

    Raises:
        TrainingError: if all records are cut.
    """
    student, folder, names = config.model_name_or_path, config.dataset_dir, config.dataset
    if (
        not (student and folder and names)
        or config.template not in (None, "empty")
        or config.packing
    ):
        return
    with suppress(ImportError, ConfigurationError, DatasetFormatError):
        from dataenvgym.students.trainers.student import load_tokenizer

        tokenizer = load_tokenizer(
            student,
            download=False,
            template=config.template,
            chat_template_kwargs=config.chat_template_kwargs,
        )
        records = list(read_dataset(Path(folder), names))
        stage = "dpo" if config.stage == "rm" else config.stage
        if not all(stage_of(record) == stage for record in records):
            return
        examples_of(config.with_options(stage=stage), records, tokenizer)


def examples_of(config: TrainingConfig, records: Any, tokenizer: Any) -> list[Any]:
    """The examples of a stage: `Example`, `Pair` in `dpo`, `Judged` in `kto`, `Scored`.

    Warns of what is cut.

    Raises:
        TrainingError: if all records are cut, or packed texts fill no block.
    """
    stage, cutoff = config.stage, config.cutoff_len
    if stage == "scored":
        return kept_turns(records, tokenizer, cutoff)
    if stage == "pt":
        # LLaMA-Factory's blocks are one token shorter than its cutoff_len
        room = cutoff - 1 if config.packing else cutoff
        found: list[Any] = [
            *examples.text_examples(records, tokenizer, room, packing=config.packing)
        ]
        if not found:
            raise TrainingError(
                f"the texts do not fill one block of {room} tokens, and packing leaves the rest "
                "out: set packing to False, or cutoff_len lower"
            )
    else:
        make: Any = {
            "sft": examples.supervised_examples,
            "dpo": examples.preference_examples,
            "kto": examples.judged_examples,
        }[stage]
        found = make(records, tokenizer, cutoff)
    check_cut(found, cutoff, are_texts=stage == "pt")
    return found
