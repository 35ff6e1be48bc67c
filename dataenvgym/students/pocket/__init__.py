"""The pocket students: small Llamas that ship with the package.

`student_path()` is a folder in Hugging Face format (weights, tokenizer, chat template), which
transformers, LLaMA-Factory and vLLM can load. `python -m tools.pocket.build` in a checkout made
them; that of math and code is `pocket-v2`. A task names its student (`Task.student`), so the
weights of another domain do not change its figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_WEIGHTS = Path(__file__).parent / "weights"
STUDENT = "pocket-v2"
"""The student that "pocket" means; every published figure belongs to one version of weights."""


def student_path(name: str = STUDENT) -> Path:
    """The folder of a student's weights; by default, the student that "pocket" means."""
    return _WEIGHTS / name


def tool_format_of(folder: str | Path) -> str | None:
    """The format in which the student in a folder was pretrained to call tools; None if unknown."""
    callers = map(student_path, ("pocket-tools-v1", "pocket-orchestrate-v1"))
    return "pocket" if Path(folder) in callers else None


def students() -> Mapping[str, Path]:
    """The folders of all pocket students, by name."""
    folders = sorted(folder for folder in _WEIGHTS.iterdir() if folder.is_dir())
    return {"pocket": student_path(), **{folder.name: folder for folder in folders}}
