"""Problems from the families of reasoning-gym, without repeats.

In most families, item i of a dataset with seed s comes from `Random(s + i)`, so datasets with close
seeds share items. Here each split has its own range of seeds, far from the others. A question that
another split has is skipped (test chooses first, then validation, then train).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from dataenvgym.errors import ConfigurationError, InvalidInstanceError, did_you_mean
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.source import Source, Split

EVALUATES_ANSWERS = frozenset(
    {
        "binary_matrix",
        "countdown",
        "intermediate_integration",
        "n_queens",
        "polynomial_multiplication",
        "puzzle24",
        "simple_integration",
        "spiral_matrix",
        "string_insertion",
    }
)
"""Families whose `score_answer` calls `eval`, or sympy's `parse_expr`, on the answer."""

SIZES: Mapping[Split, int] = {"train": 200, "validation": 100, "test": 100}
_CHOOSING_ORDER: tuple[Split, ...] = ("test", "validation", "train")
_SEED_RANGE = 2**29
_TRIES = 20  # items per wanted problem, before a family counts as exhausted


class ReasoningGymSource(Source):
    """Items of the families' procedural data sets.

    Args:
        families: names of reasoning-gym's families, e.g. ["chain_sum", "gcd"], or a mapping from
            names to the options of each family.
        name: of the task.
        sizes: number of problems of each family in a split.
        seed: selects the problems.

    Raises:
        ConfigurationError: if reasoning-gym is not installed, or a family does not exist, does
            not take its options, or evaluates answers as code.
    """

    def __init__(
        self,
        families: Sequence[str] | Mapping[str, Mapping[str, Any]],
        *,
        name: str,
        sizes: Mapping[Split, int] = SIZES,
        seed: int = 0,
    ) -> None:
        options = families if isinstance(families, Mapping) else {}
        self._families = {family: dict(options.get(family, {})) for family in families}
        self._name = name
        self._sizes = sizes
        self._seed = seed
        for family in self._families:
            dataset_of(self._recipe(family, "test"))

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, the families in turn.

        Raises:
            InvalidInstanceError: if a family has too few different problems.
        """
        columns = []
        for family in self._families:
            asked: set[str] = set()  # in the splits that choose before
            for chooser in _CHOOSING_ORDER[: _CHOOSING_ORDER.index(split)]:
                self._choose(family, chooser, asked)
            columns.append(self._choose(family, split, asked))
        return [instance for turn in zip(*columns, strict=True) for instance in turn]

    def _choose(self, family: str, split: Split, asked: set[str]) -> list[TaskInstance]:
        """The first problems whose question is not in `asked`; their questions are added to it."""
        recipe = self._recipe(family, split)
        dataset = dataset_of(recipe)
        wanted = self._sizes.get(split, 0)
        problems: list[TaskInstance] = []
        for index in range(len(dataset)):
            if len(problems) == wanted:
                return problems
            entry = dataset[index]
            key = question_key(entry["question"])
            if key in asked:
                continue
            asked.add(key)
            problems.append(
                TaskInstance(
                    id=f"{family}-{split}-{index}",
                    task=self._name,
                    instruction=entry["question"],
                    answer=entry["answer"],
                    skill=family,
                    category=dataset.category,
                    data={"recipe": recipe, "index": index},
                )
            )
        raise InvalidInstanceError(
            f"family {family!r} has only {len(problems)} new problems for split {split!r} among "
            f"{len(dataset)}, expected {wanted}: ask for fewer, or widen the family's options"
        )

    def _recipe(self, family: str, split: Split) -> str:
        """A JSON description from which any process can make the dataset of a split again."""
        offset = _SEED_RANGE * _CHOOSING_ORDER.index(split)
        return orjson.dumps(
            {
                "family": family,
                "options": self._families[family],
                "seed": derive_seed(self._seed, family) % (_SEED_RANGE // 2) + offset,
                "size": max(1, self._sizes.get(split, 0)) * _TRIES,
            },
            option=orjson.OPT_SORT_KEYS,
        ).decode()


def question_key(question: str) -> str:
    """The question without differences in spacing and case; every sign and digit counts."""
    return " ".join(question.casefold().split())


@lru_cache(maxsize=64)
def dataset_of(recipe: str) -> Any:
    """The procedural dataset that a recipe describes.

    Raises:
        ConfigurationError: see `ReasoningGymTask`.
    """
    try:
        factory = importlib.import_module("reasoning_gym.factory")
    except ImportError:
        raise ConfigurationError(
            "this task needs reasoning-gym: run `pip install dataenvgym[reasoning-gym]`"
        ) from None
    importlib.import_module("reasoning_gym")  # registers the families
    made_of = orjson.loads(recipe)
    family = made_of["family"]
    known = sorted(factory.DATASETS.keys() - EVALUATES_ANSWERS)
    if family in EVALUATES_ANSWERS:
        raise ConfigurationError(
            f"family {family!r} scores an answer by running it as Python code, which is refused; "
            f"the others are: {', '.join(known)}"
        )
    if family not in factory.DATASETS:
        raise ConfigurationError(
            f"reasoning-gym has no family {family!r}.{did_you_mean(family, known)} "
            f"It has: {', '.join(known)}."
        )
    options = made_of["options"] | {"seed": made_of["seed"], "size": made_of["size"]}
    try:
        return factory.create_dataset(family, **options)
    except (TypeError, ValueError, AssertionError) as error:
        raise ConfigurationError(
            f"family {family!r} does not take the options {made_of['options']}: {error}"
        ) from error
