"""A source: where the problems of a task come from, by split."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, get_args

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


class Source(ABC):
    """The problems of each split; only `load` is required.

    Attributes:
        has_one_source: whether all three splits are parts of one thing, such as a file; `whole`
            can then join them.
    """

    has_one_source: bool = False

    @abstractmethod
    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, always the same ones in the same order.

        Raises:
            ConfigurationError: if the split does not exist.
            UnparsableAnswerError: for a gold answer that the scorer cannot read.
        """

    @property
    def splits(self) -> tuple[Split, ...]:
        """The available splits; by default, all three."""
        return SPLITS

    def share(self, split: Split, chosen: int) -> str | None:
        """The part of the source that the `chosen` problems of a split are; None if it is all."""
        return None

    def whole(self) -> Source:
        """All problems of the one source, as the validation split.

        Raises:
            ConfigurationError: if the source cannot be taken as a whole.
        """
        raise ConfigurationError(
            f"{type(self).__name__} cannot be taken as a whole: choose one of its splits, "
            f"{', '.join(self.splits)}, or give the class a method `whole()`"
        )
