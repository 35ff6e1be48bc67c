"""Explains a failed training of LLaMA-Factory from its exit code and log, and says what to do."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from dataenvgym.errors import shorten
from dataenvgym.external.processes import end_of_log, last_lines

_LESS_MEMORY = (
    "lower per_device_train_batch_size (and raise gradient_accumulation_steps) or cutoff_len, or "
    "set quantization_bit=4"
)
_CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"No space left on device|Disk quota exceeded|os error 28",
        "the disk is full",
        "free disk space, then start the same command again",
    ),
    (
        r"CUDA out of memory|OutOfMemoryError|DefaultCPUAllocator: can't allocate memory"
        r"|exitcode\s*:\s*-9",
        "it ran out of memory",
        _LESS_MEMORY,
    ),
    (
        r"Error: .*(CUDA is not available|No CUDA GPUs are available|no NVIDIA driver)",
        "it found no GPU",
        "see `dataenvgym doctor`, and trainer.gpus",
    ),
)


def explain_failure(code: int, log: Path) -> str:
    """One message: the error, what to do, the path of the log and its last lines.

    Args:
        code: the exit code; negative for the signal that ended the process.
    """
    words = last_lines(log, 200, at_most=40_000)
    cause, way_out = _cause(code, words)
    return (
        f"LLaMA-Factory's training failed: {cause}. {way_out[:1].upper()}{way_out[1:]}. "
        f"{end_of_log(log)}"
    )


def _cause(code: int, words: str) -> tuple[str, str]:
    for pattern, cause, way_out in _CAUSES:
        if re.search(pattern, words):
            return cause, way_out
    if code == -signal.SIGKILL:
        return "it was killed, most often by a system that ran out of memory", _LESS_MEMORY
    if code < 0:
        name = signal.Signals(-code).name
        return f"it was ended by {name}", "start the same command again to continue"
    errors = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception)\b.*$", words, re.MULTILINE)
    what = f"it ended with exit code {code}" + (f" ({shorten(errors[-1], 300)})" if errors else "")
    return what, "fix the error in the log, then start the same command again"
