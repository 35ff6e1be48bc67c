"""The adapter of a student before its last training, for self-play."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from dataenvgym.errors import ConfigurationError


class RemembersFormer:
    """Two methods of `SharesBase`, for predictors."""

    _former: Path | Literal["unknown"] | None = None

    def former_adapter(self) -> Path | None:
        """The folder with the adapter from before the last training; None without one.

        Raises:
            ConfigurationError: if it is unknown after `load`.
        """
        if self._former == "unknown":
            raise ConfigurationError(
                "it is not known what the student was before its last training, since what it has "
                "learned was loaded from a folder: name the folder of the former adapter, or "
                "evaluate an iteration of a run (--run RUN)"
            )
        return self._former

    def remember_former(self, folder: Path | None) -> None:
        """Set the adapter from before the last training; the next `load` clears it."""
        self._former = folder
