"""Problems and exercises from reasoning-gym's families: the source of a task, and its teacher.

In most families, item i of a dataset with seed s comes from `Random(s + i)`, so datasets with close
seeds share items. Here each split has its own range of seeds, far from the others. A question that
another split has is skipped (test chooses first, then validation, then train).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, check_one_of
from dataenvgym.options import PlainText
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.options import PromptOptions, TaskOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily
from dataenvgym.tasks.source import Source, Split

PROMPT = "Put your final answer, and nothing else, between <answer> and </answer>."

EVALUATES_ANSWERS = frozenset({
    "binary_matrix", "countdown", "intermediate_integration", "n_queens", "puzzle24",
    "polynomial_multiplication", "simple_integration", "spiral_matrix", "string_insertion",
})  # fmt: skip
"""Families whose `score_answer` calls `eval`, or sympy's `parse_expr`, on the answer."""

SIZES: Mapping[Split, int] = {"train": 200, "validation": 100, "test": 100}
_CHOOSING_ORDER: tuple[Split, ...] = ("test", "validation", "train")
_SEED_RANGE = 2**29
_TRIES = 20  # items per wanted problem, before a family counts as exhausted


@dataclass(frozen=True)
class ReasoningGymOptions(TaskOptions, PromptOptions):
    """Options of `ReasoningGymTask`.

    Attributes:
        families: names of reasoning-gym's families, such as [chain_sum, gcd], or a mapping from
            names to the options of each.
        name: name of the task.
        sizes: number of problems of each family in a split.
        seed: selects the problems.
        system_prompt: a system message before each problem, or "" for none.
        reply: the gold reply in records; `{answer}` stands for the answer, which it has to mark.
    """

    families: Sequence[str] | Mapping[str, Mapping[str, Any]]
    _: KW_ONLY
    name: str = "reasoning_gym"
    sizes: Mapping[Split, int] = field(default_factory=lambda: SIZES)
    seed: int = 0
    system_prompt: PlainText[str] = PROMPT
    reply: PlainText[str] = "#### {answer}"


class ReasoningGymSource(Source):
    """Items of the families' procedural data sets.

    Raises:
        ConfigurationError: if reasoning-gym is not installed, or a family does not exist, does
            not take its options, or evaluates answers as code.
    """

    def __init__(self, options: ReasoningGymOptions) -> None:
        families = options.families
        of_each = families if isinstance(families, Mapping) else {}
        self.families = {family: dict(of_each.get(family, {})) for family in families}
        self.options = options
        for family in self.families:
            dataset_of(self.recipe(family, "test"))

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, the families in turn.

        Raises:
            InvalidInstanceError: if a family has too few different problems.
        """
        columns = []
        for family in self.families:
            asked: set[str] = set()  # in the splits that choose before
            for chooser in _CHOOSING_ORDER[: _CHOOSING_ORDER.index(split)]:
                self._choose(family, chooser, asked)
            columns.append(self._choose(family, split, asked))
        return [instance for turn in zip(*columns, strict=True) for instance in turn]

    def _choose(self, family: str, split: Split, asked: set[str]) -> list[TaskInstance]:
        """The first problems whose question is not in `asked`; their questions are added to it."""
        recipe = self.recipe(family, split)
        dataset = dataset_of(recipe)
        wanted = self.options.sizes.get(split, 0)
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
                    task=self.options.name,
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

    def recipe(self, family: str, split: Split) -> str:
        """A JSON description from which any process can make the dataset of a split again."""
        offset = _SEED_RANGE * _CHOOSING_ORDER.index(split)
        return exact_json.dumps(
            {
                "family": family,
                "options": self.families[family],
                "seed": derive_seed(self.options.seed, family) % (_SEED_RANGE // 2) + offset,
                "size": max(1, self.options.sizes.get(split, 0)) * _TRIES,
            },
            option=exact_json.SORT_KEYS,
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
    made_of = exact_json.loads(recipe)
    family = made_of["family"]
    known = sorted(factory.DATASETS.keys() - EVALUATES_ANSWERS)
    if family in EVALUATES_ANSWERS:
        raise ConfigurationError(
            f"family {family!r} scores an answer by running it as Python code, which is refused; "
            f"the others are: {', '.join(known)}"
        )
    check_one_of(known, families=family)
    options = made_of["options"] | {"seed": made_of["seed"], "size": made_of["size"]}
    try:
        return factory.create_dataset(family, **options)
    except (TypeError, ValueError, AssertionError) as error:
        raise ConfigurationError(
            f"family {family!r} does not take the options {made_of['options']}: {error}"
        ) from error


@dataclass(frozen=True)
class ReasoningGymSkill:
    """A family of reasoning-gym; its questions have no phrasings other than their own."""

    name: str
    category: str

    @property
    def phrasings(self) -> Sequence[str]:
        return (self.name,)


@dataclass(frozen=True)
class ReasoningGymProblem:
    """An item of a family, and its gold reply."""

    skill: ReasoningGymSkill
    question: str
    answer: str
    output: str

    def worded(self, phrasing: str | None) -> str:
        return self.question


class ReasoningGymFamily(PocketFamily[ReasoningGymProblem]):
    """Lets the embedded teacher (`PocketEngine`) write records of items of the train split's range.

    It draws them from all that the range has, not only from the train split, and skips questions
    of the other splits.

    Args:
        source: of the task.
    """

    def __init__(self, source: ReasoningGymSource) -> None:
        self.name = source.options.name
        self._source = source

    @cached_property
    def skills(self) -> Mapping[str, ReasoningGymSkill]:
        return {
            name: ReasoningGymSkill(name, dataset_of(self._source.recipe(name, "train")).category)
            for name in self._source.families
        }

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> ReasoningGymProblem:
        dataset = dataset_of(self._source.recipe(skill, split))
        for index in rng.permutation(len(dataset)).tolist():
            entry = dataset[index]
            if question_key(entry["question"]) not in self._evaluated:
                return self._problem(skill, entry["question"], entry["answer"])
        raise InvalidInstanceError(
            f"all {len(dataset)} training questions of family {skill!r} are also in the validation "
            "or the test split: widen the family's options"
        )

    def find(self, question: str) -> tuple[ReasoningGymProblem, str] | None:
        """The problem of the train or the validation split with this question."""
        if (instance := self._known.get(question)) is None:
            return None
        assert instance.skill is not None
        assert instance.answer is not None
        return self._problem(instance.skill, question, instance.answer), instance.skill

    def holds(self, exercise: Exercise, output: str) -> bool:
        return output.strip() == exercise.output

    def _problem(self, skill: str, question: str, answer: str) -> ReasoningGymProblem:
        return ReasoningGymProblem(self.skills[skill], question, answer, self.written(answer))

    def written(self, answer: str) -> str:
        """The gold reply with that answer."""
        return self._source.options.reply.replace("{answer}", answer)

    @cached_property
    def _known(self) -> Mapping[str, TaskInstance]:
        splits: tuple[Split, ...] = ("train", "validation")
        return {i.instruction: i for split in splits for i in self._source.load(split)}

    @cached_property
    def _evaluated(self) -> frozenset[str]:
        splits: tuple[Split, ...] = ("validation", "test")
        return frozenset(
            question_key(i.instruction) for split in splits for i in self._source.load(split)
        )
