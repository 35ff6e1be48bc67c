"""The pocket students: small Llamas that ship with the package.

`student_path()` is a folder in Hugging Face format (weights, tokenizer, chat template) that
transformers, LLaMA-Factory and vLLM load alike. `python -m dataenvgym.pocket.build` made that of
math and code, `pocket-v2`; a task names its student (`Task.student`), so that the weights of
another domain leave its figures alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_WEIGHTS = Path(__file__).parent / "weights"
STUDENT = "pocket-v2"
"""The one that "pocket" stands for; every published figure belongs to one version of weights."""


def student_path(name: str = STUDENT) -> Path:
    """The folder of a student's weights; by default, of the one that "pocket" stands for."""
    return _WEIGHTS / name


def tool_format_of(folder: str | Path) -> str | None:
    """How the student in a folder was pretrained to call tools; None if we do not know."""
    learned = {student_path("pocket-tools-v1"): "pocket"}
    return learned.get(Path(folder))


def students() -> Mapping[str, Path]:
    """The folders of all pocket students, by name."""
    folders = sorted(folder for folder in _WEIGHTS.iterdir() if folder.is_dir())
    return {"pocket": student_path(), **{folder.name: folder for folder in folders}}
