"""The student as another speaker: self-play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import Closes, PredictorInterface, SamplingParameters, SharesBase
from dataenvgym.records import Conversation
from dataenvgym.storage import hash_files

CURRENT, FORMER, UNTOUCHED = "current", "former", "untouched"
_NAMES = (CURRENT, FORMER, UNTOUCHED)


class StudentSpeaker:
    """Represents the student among the other speakers, e.g. as its partner; `rollout` replaces it.

        SocialTask(partner="model", others={"partner": StudentSpeaker("former"), "judge": ...})

    Args:
        adapter: the adapter with which the student answers here: "current", the present one;
            "former", the one before its last training; "untouched", none; or a folder with an
            adapter. All but "current" need a student that `SharesBase`.

    Raises:
        ConfigurationError: if the folder does not exist.
    """

    def __init__(self, adapter: str | Path = CURRENT) -> None:
        self.adapter = str(adapter)
        self.folder: Path | None = None
        if self.adapter not in _NAMES:
            self.folder = Path(adapter).expanduser().absolute()
            if not self.folder.is_dir():
                raise ConfigurationError(
                    f"adapter is {self.adapter!r}, and there is no such folder."
                    f"{did_you_mean(self.adapter, _NAMES)} Expected {', '.join(_NAMES)}, or a "
                    "folder with an adapter"
                )

    def of(self, student: PredictorInterface) -> PredictorInterface:
        """The predictor that answers.

        Raises:
            ConfigurationError: if the student cannot answer with another adapter, or its adapter
                before the last training is unknown.
            AdapterError: if the folder contains no checkpoint.
        """
        if self.adapter == CURRENT:
            return student
        if not isinstance(student, SharesBase):
            raise ConfigurationError(
                f"adapter is {self.adapter!r}, and {type(student).__name__} cannot answer with "
                "another adapter beside its own (it has no `with_adapter`): choose 'current', or "
                "give the speaker a predictor of its own"
            )
        folder = student.former_adapter() if self.adapter == FORMER else self.folder
        return student.with_adapter(folder)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> NoReturn:
        """Raise ConfigurationError: outside `rollout`, the student is unknown."""
        raise ConfigurationError(
            "a StudentSpeaker was asked by an environment that is stepped by itself, which knows "
            "no student: use rollout() or task.attempt(), or give the speaker a predictor"
        )

    def describe(self) -> dict[str, Any]:
        """The name of the adapter; of a folder, a hash of its content."""
        adapter = self.adapter if self.folder is None else hash_files(self.folder)[:16]
        return {"name": type(self).__name__, "adapter": adapter}


def student_speakers(others: Mapping[str, Any]) -> dict[str, StudentSpeaker]:
    """The speakers that are the student, by name."""
    return {n: speaker for n, speaker in others.items() if isinstance(speaker, StudentSpeaker)}


@contextmanager
def with_student(
    others: Mapping[str, PredictorInterface], student: PredictorInterface
) -> Iterator[dict[str, PredictorInterface]]:
    """The speakers with each `StudentSpeaker` replaced by a predictor; closed after the block."""
    answering = dict(others)
    beside: list[PredictorInterface] = []
    try:
        for name, speaker in student_speakers(others).items():
            answering[name] = speaker.of(student)
            if answering[name] is not student:
                beside.append(answering[name])
        yield answering
    finally:
        for predictor in beside:
            if isinstance(predictor, Closes):
                predictor.close()
