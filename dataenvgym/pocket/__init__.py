"""The pocket student: a small Llama that ships with the package.

`student_path()` is a folder in Hugging Face format (weights, tokenizer, chat template) that
transformers, LLaMA-Factory and vLLM load alike. `python -m dataenvgym.pocket.build` made it.
"""

from __future__ import annotations

from pathlib import Path

STUDENT = "pocket-v2"
"""Name and version of the weights; every published figure belongs to one version."""


def student_path() -> Path:
    """The folder of the pocket student."""
    return Path(__file__).parent / "weights" / STUDENT
