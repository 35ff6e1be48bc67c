"""The folder that LLaMA-Factory writes to during a training, and how it becomes the output.

LLaMA-Factory writes to a hidden folder next to the output folder, following the file
`.training.yaml` next to it. With checkpoints, an interrupted training continues from there. When it
is complete, it is renamed.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

from dataenvgym.errors import TrainingError
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.interface import ADAPTER_FILES

_RESUME = "resume_from_checkpoint"

# Files of LLaMA-Factory's output to keep with an adapter; the others repeat the student's files.
_REPORTS = ("trainer_log.jsonl", "trainer_state.json", "all_results.json", "training_loss.png")
_LEFT_OVER = ("training_args.bin", "scored_log_probabilities.pt")  # beside a whole student, too


def stage(config: TrainingConfig, staging: Path, staged: Path) -> None:
    """Write the training file for LLaMA-Factory, and make the folder for its output.

    The folder is emptied, unless the same training was interrupted and can continue.
    """
    new = staged.with_name(f"{staged.name}.new")
    config.with_options(output_dir=staging).write(new)
    if config.save_strategy == "no" or _asked(new) != _asked(staged):
        shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True, exist_ok=True)
    if checkpoint := _last_checkpoint(staging):
        extra = {**config.extra, _RESUME: str(checkpoint)}
        config.with_options(output_dir=staging, extra=extra).write(new)
    new.replace(staged)


def _asked(path: Path) -> TrainingConfig | None:
    """The options of a staged file, except the checkpoint to continue from."""
    if not path.is_file():
        return None
    config = TrainingConfig.read(path)
    extra = {name: value for name, value in config.extra.items() if name != _RESUME}
    return config.with_options(extra=extra)


def _last_checkpoint(folder: Path) -> Path | None:
    checkpoints = [
        (int(match[1]), path)
        for path in folder.glob("checkpoint-*")
        # written last: a checkpoint without it is incomplete
        if (match := re.fullmatch(r"checkpoint-(\d+)", path.name))
        and (path / "trainer_state.json").is_file()
    ]
    return max(checkpoints)[1] if checkpoints else None


def publish(staging: Path, output: Path, log: Path) -> None:
    """Move the trained files to `output`, and the reports next to it."""
    is_adapter = all((staging / name).is_file() for name in ADAPTER_FILES)
    is_student = (staging / "config.json").is_file() and any(staging.glob("*.safetensors"))
    if not is_adapter and not is_student:
        raise TrainingError(
            f"LLaMA-Factory ended well, but wrote no adapter ({' and '.join(ADAPTER_FILES)}) and "
            f"no student to {staging}, which has {sorted(p.name for p in staging.iterdir())}; its "
            f"log is {log}"
        )
    for name in _REPORTS:
        with suppress(FileNotFoundError):
            (staging / name).replace(output.with_name(name))
    for path in staging.iterdir():
        if path.is_dir():  # first out of sight: half a checkpoint cannot be continued
            shutil.rmtree(path.replace(path.with_name(f".{path.name}")))
        elif path.name in _LEFT_OVER or (is_adapter and path.name not in ADAPTER_FILES):
            path.unlink()
    shutil.rmtree(output, ignore_errors=True)
    staging.replace(output)
