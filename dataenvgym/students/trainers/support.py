"""Options that a trainer would ignore: none of them is ignored silently.

The in-process trainer refuses stages and options of LLaMA-Factory that it does not support, by
name. Options that have no effect on the records at hand get a warning, with any trainer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from dataenvgym.errors import (
    ConfigurationError,
    DatasetFormatError,
    TrainingError,
    UnsupportedStageError,
    first_fault,
)
from dataenvgym.events import warn_run
from dataenvgym.records import ScoredDatum, TrainingDatum
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset, stage_of
from dataenvgym.students.trainers import examples
from dataenvgym.students.trainers.examples import Example, Pair, Scored

STAGES = ("sft", "pt", "dpo", "kto", "scored")
_ELSEWHERE = "the in-process trainer has no other; LLaMA-Factory itself has"


class Extra(BaseModel):
    """Supported options of LLaMA-Factory without a field in `TrainingConfig`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_epsilon: float = 1e-8
    warmup_ratio: float = 0.0
    train_on_prompt: bool = False
    pure_bf16: Literal[False] = False  # bf16 is there
    preprocessing_num_workers: int = 1
    ref_model: str | None = None
    ref_model_adapters: str | None = None

    @classmethod
    def of(cls, config: TrainingConfig) -> Extra:
        """Those of a training, without options that do not change it."""
        options = {name: v for name, v in config.extra.items() if name not in _WITHOUT_EFFECT}
        return cls.model_validate(options)


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
    options = {**config.options(), **config.extra}
    try:
        wrong = _wrong(config, stages or (config.stage,))
    except ValidationError as error:
        raise UnsupportedStageError(f"{first_fault(error)} ({_ELSEWHERE})") from None
    if stages:  # typed by a user; a file for LLaMA-Factory may have them, with their defaults
        typed = {"save_strategy": "no", "report_to": "none", "template": None}
        wrong |= {n: repr(v) for n, v in typed.items() if getattr(config, n) != v}
    for name, expected in wrong.items():
        found = f"{name} is {options[name]!r}, expected {expected}"
        raise UnsupportedStageError(f"{found}: {_ELSEWHERE}")


def _wrong(config: TrainingConfig, stages: Sequence[str]) -> dict[str, str]:
    """The options with a value that no stage supports, and the supported values."""
    extra = Extra.of(config)
    # LLaMA-Factory then draws answers, or fills blocks, within each worker's share of the records
    is_shared = extra.preprocessing_num_workers > 1 and (
        set(stages) == {"kto"} or (config.packing and set(stages) == {"pt"})
    )
    student = config.model_name_or_path
    checks = (
        ("stage", config.stage not in STAGES, f"one of {', '.join(STAGES)}"),
        ("do_train", not config.do_train, "True"),
        ("finetuning_type", config.finetuning_type != "lora", "'lora'"),
        ("use_dora", config.use_dora, "False"),
        ("quantization_bit", config.quantization_bit is not None, "none"),
        ("deepspeed", config.deepspeed is not None, "none"),
        ("template", config.template not in (None, "empty"), "none (it uses the tokenizer's own)"),
        ("packing", config.packing and "pt" not in stages, "False outside stage 'pt'"),
        ("preprocessing_num_workers", is_shared, "1 in stage 'kto', and in 'pt' with packing"),
        ("fp16", config.fp16, "False (bf16 is there)"),
        ("pref_loss", config.pref_loss != "sigmoid", "'sigmoid'"),
        ("pref_ftx", config.pref_ftx and set(stages) == {"kto"}, "0 in stage 'kto'"),
        ("ref_model", student and extra.ref_model not in (None, student), "the student itself"),
    )
    return {name: expected for name, is_wrong, expected in checks if is_wrong}


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
