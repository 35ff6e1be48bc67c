"""Self-edits: a student's choice of augmentations and training for one problem (SEAL).

    {"data_generation": {"use_basic_augmentations": true, "use_size_augmentations": false,
                         "use_chain_augmentations": false, "use_repeat_augmentations": true},
     "training": {"strategy": "train_using_output_tokens", "learning_rate": 1e-4,
                  "num_train_epochs": 2}}

An edit that cannot be read, or that asks for too much training, is not left out: it fails, with 0
epochs, and the student stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from dataenvgym.domains.few_shot.augmentations import (
    GROUPS,
    Group,
    augmentations_of,
    permuted_colors,
)
from dataenvgym.domains.few_shot.problem import FewShotProblem, Pair
from dataenvgym.errors import first_fault
from dataenvgym.llm.repair import json_in
from dataenvgym.records import Model
from dataenvgym.records.model import Finite

Strategy = Literal["train_using_all_tokens", "train_using_output_tokens"]
Example = tuple[Pair, ...]
"""Demonstrations, and then the pair to solve."""
MOST_EXAMPLES = 250
MOST_STEPS = 375
BATCH_SIZE = 2
"""Of the published experiments, for counting steps."""


class DataGeneration(Model):
    """The groups of augmentations to use."""

    use_basic_augmentations: Annotated[bool, Field(strict=True)]
    use_size_augmentations: Annotated[bool, Field(strict=True)]
    use_chain_augmentations: Annotated[bool, Field(strict=True)]
    use_repeat_augmentations: Annotated[bool, Field(strict=True)]

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(group for group in GROUPS if getattr(self, f"use_{group}_augmentations"))


class Training(Model):
    """How to train on the examples: the loss is on all tokens, or on those of the outputs."""

    strategy: Strategy
    learning_rate: Annotated[Finite, Field(ge=0, strict=True)]
    num_train_epochs: Annotated[int, Field(ge=0, strict=True)]


class SelfEdit(Model):
    """A self-edit; `failure` says why it is not carried out, and is "" if it is."""

    data_generation: DataGeneration
    training: Training
    failure: str = ""

    def failed(self, reason: str) -> SelfEdit:
        """The same edit with 0 epochs."""
        training = self.training.model_copy(update={"num_train_epochs": 0})
        return self.model_copy(update={"training": training, "failure": reason})

    def for_examples(self, n_examples: int) -> SelfEdit:
        """The edit, or the failed edit if it takes too many steps on so many examples."""
        steps = self.training.num_train_epochs * n_examples // BATCH_SIZE
        if steps <= MOST_STEPS:
            return self
        return self.failed(f"it takes {steps} steps, more than {MOST_STEPS}")


NOTHING = SelfEdit(
    data_generation=DataGeneration.model_validate(
        {f"use_{g}_augmentations": False for g in GROUPS}
    ),
    training=Training(strategy="train_using_output_tokens", learning_rate=0.0, num_train_epochs=0),
)
"""An edit without augmentations and training."""


def read_self_edit(text: str) -> SelfEdit:
    """The first JSON object in a reply as a self-edit; a failed one if it is not one."""
    found: Any = next((value for value in json_in(text) if isinstance(value, dict)), None)
    if found is None:
        return NOTHING.failed("there is no JSON object")
    try:
        return SelfEdit.model_validate({k: v for k, v in found.items() if k != "failure"})
    except ValidationError as error:
        return NOTHING.failed(first_fault(error))


def examples_of(
    problem: FewShotProblem, groups: Sequence[Group], rng: np.random.Generator
) -> list[Example]:
    """Examples made of the demonstrations, at most 250, all different, in random order.

    One demonstration is to be solved; all others are shown, or all but one. These tasks are used as
    they are, and under each augmentation of the groups. Each also occurs with the demonstrations in
    another order, and with permuted colors if there is an augmentation. A task with a grid that
    becomes too large is dropped. A problem with one demonstration gives no example.
    """
    plain = problem.demonstrations
    changed = [
        [augmentation.of_pair(pair) for pair in plain]
        for group in groups
        for augmentation in augmentations_of(group, rng)
    ]
    kept = [
        example
        for pairs in (plain, *changed)
        for places in _left_out(len(plain))
        if None not in (example := tuple(pairs[place] for place in places))
    ]
    examples: dict[Example, None] = {}
    for number in rng.permutation(2 * len(kept)).tolist():
        example = kept[number // 2]
        if number % 2:
            example = _shuffled(example, rng, recolored=bool(groups))
        examples[example] = None
        if len(examples) == MOST_EXAMPLES:
            break
    return list(examples)


def _left_out(count: int) -> Iterator[tuple[int, ...]]:
    """The places of the shown demonstrations and, last, of the one to solve."""
    for held in range(count):
        others = [place for place in range(count) if place != held]
        for n_shown in (count - 1, count - 2):
            if n_shown > 0:
                yield from ((*shown, held) for shown in combinations(others, n_shown))


def _shuffled(example: Example, rng: np.random.Generator, *, recolored: bool) -> Example:
    *shown, last = example
    pairs = [*(shown[place] for place in rng.permutation(len(shown)).tolist()), last]
    if recolored:
        colors = permuted_colors(rng)
        pairs = [changed for pair in pairs if (changed := colors.of_pair(pair)) is not None]
    return tuple(pairs)
