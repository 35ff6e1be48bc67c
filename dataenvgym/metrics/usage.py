"""What the student's replies took: tokens and seconds, for each file of samples.

`usage/SSS-CCCC.json` is written before the samples of that name. Tokens are as the predictor counts
them, so they can be repeated; seconds cannot.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dataenvgym.interfaces import PredictorInterface, Reply
from dataenvgym.interfaces.forwarding import HearingPredictor
from dataenvgym.metrics.files import EvaluationFiles
from dataenvgym.records import Conversation, Model
from dataenvgym.storage import read_json, write_json
from dataenvgym.workspace import naming_damage


class Usage(Model):
    """Tokens and seconds of the student.

    Attributes:
        replies: the number of replies.
        counted: those whose tokens the predictor counted.
        prompt_tokens, completion_tokens: of the counted replies.
        seconds: from the first question to the last reply, for each file of samples.
    """

    replies: int = 0
    counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        names = Usage.model_fields
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def tokens_each(self) -> float | None:
        """The mean number of tokens of a reply; None if none was counted."""
        return self.completion_tokens / self.counted if self.counted else None


class MeteredStudent(HearingPredictor):
    """Answers with a predictor, and adds up the usage of its replies."""

    def __init__(self, predictor: PredictorInterface) -> None:
        super().__init__(predictor)
        self.usage = Usage()
        self._lock = threading.Lock()

    def hear(self, conversation: Conversation, reply: Reply) -> None:
        counts = (reply.prompt_tokens, reply.completion_tokens)
        known = Usage(replies=1)
        if counts[0] is not None and counts[1] is not None:
            known = Usage(
                replies=1, counted=1, prompt_tokens=counts[0], completion_tokens=counts[1]
            )
        with self._lock:
            self.usage += known


@contextmanager
def metered(
    predictor: PredictorInterface, files: EvaluationFiles, part: Path
) -> Iterator[PredictorInterface]:
    """The predictor, whose usage is written at the end of the block, before the file `part`.

    If the part is there already, its failed samples are asked again: their usage is added.
    """
    path = _path(files, part)
    before = _read(path) if part.exists() and path.exists() else Usage()
    student = MeteredStudent(predictor)
    begun = time.perf_counter()
    yield student
    seconds = Usage(seconds=round(time.perf_counter() - begun, 3))
    write_json(path, (before + student.usage + seconds).model_dump())


def usage_of(files: EvaluationFiles, samples: int) -> Usage | None:
    """The usage of the first samples; None for an evaluation without it, of an earlier version."""
    folder = files.directory / "usage"
    paths = [path for n in range(samples) for path in sorted(folder.glob(f"{n:03d}-*.json"))]
    return sum(map(_read, paths), Usage()) if paths else None


def _path(files: EvaluationFiles, part: Path) -> Path:
    return files.directory / "usage" / f"{part.stem}.json"


def _read(path: Path) -> Usage:
    with naming_damage(path, "remove it: only tokens and seconds are lost"):
        return Usage.model_validate(read_json(path))
