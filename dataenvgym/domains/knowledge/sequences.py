"""How a self-edit of a passage is divided into the texts to train on (SEAL)."""

from __future__ import annotations

import re
from typing import Literal

from dataenvgym.domains.knowledge.environment import Passage

SplitBy = Literal["segments", "lines"]

_QUESTION = re.compile(r"Question\s+\d+:")
_ANSWER = re.compile(r"Answer\s*:")


def train_sequences(
    edit: str, passage: Passage, split: SplitBy = "lines", *, append_passage: bool = True
) -> list[str]:
    """The texts to train on, each headed by the title; the passage is the last of them.

    "Sure:\\n1. A\\n2. B", split by lines, gives "T\\n1. A", "T\\n2. B" and "T\\n{passage}".

    Args:
        edit: the model's text about the passage.
        split: "segments" divides it at "---". "lines" also divides each segment into lines, without
            a first line before one that begins with "1."; an edit with questions and answers is
            divided before each "Question N:" instead.
        append_passage: False leaves the passage out.
    """
    found = [part.strip() for part in edit.split("---") if part.strip()]
    if split == "lines" and _QUESTION.search(edit) and _ANSWER.search(edit):
        found = re.split(r"\n(?=Question\s+\d+:)", edit.strip())
        if not found[0].lstrip().startswith("Question"):
            found[0] = f"Question 1: {found[0].strip()}"
    elif split == "lines":
        found = [line.strip() for part in found for line in part.splitlines() if line.strip()]
        if len(found) > 1 and found[1].startswith("1."):
            found = found[1:]
    texts = [*found, passage.text.strip()] if append_passage else found
    return [f"{passage.title}\n{text}" for text in texts]
