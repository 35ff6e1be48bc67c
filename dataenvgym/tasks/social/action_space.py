"""The texts of actions as a gymnasium space; samples obey a mask over the kinds of action."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import Error
from numpy.typing import NDArray

from dataenvgym.spaces import TextSpace
from dataenvgym.tasks.social.actions import ALL_KINDS, NOTHING, Action, ActionKind, write_action

Mask = NDArray[np.int8]
"""One entry for each of `ALL_KINDS`, in their order: 1 if that kind is allowed."""


class ActionTextSpace(TextSpace):
    """Any text; `sample` draws the text of an action."""

    def draw(self, rng: np.random.Generator) -> str:
        return self._of_kind(ActionKind.SPEAK, rng)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """The text of an action of a kind that the mask allows; without a mask, of any kind.

        Raises:
            gymnasium.error.Error: for probabilities, and for a mask of another length.
        """
        if probability is not None:
            raise Error(f"ActionTextSpace.sample takes no probability, got {probability!r}")
        allowed = np.ones(len(ALL_KINDS), np.int8) if mask is None else np.asarray(mask)
        if allowed.shape != (len(ALL_KINDS),) or not allowed.any():
            raise Error(
                f"mask is {mask!r}, expected {len(ALL_KINDS)} numbers, 1 for each kind of action "
                f"that is possible: {', '.join(ALL_KINDS)}"
            )
        kinds = np.flatnonzero(allowed)
        kind = ALL_KINDS[int(kinds[self.np_random.integers(len(kinds))])]
        return self._of_kind(kind, self.np_random)

    def _of_kind(self, kind: ActionKind, rng: np.random.Generator) -> str:
        if kind is ActionKind.NONE:
            return write_action(NOTHING)
        return write_action(Action(kind, super().draw(rng)))


def mask_of(kinds: tuple[ActionKind, ...]) -> Mask:
    """The mask that allows these kinds."""
    return np.array([kind in kinds for kind in ALL_KINDS], np.int8)
