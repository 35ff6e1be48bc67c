"""Families of reasoning-gym as a task (`pip install dataenvgym[reasoning-gym]`).

The score is the family's own, between 0 and 1; 1 is correct. Families that score by evaluating
the answer as Python code are refused: a student's code is not run here.

In most families, item i of a dataset with seed s comes from `Random(s + i)`, so datasets with close
seeds share items. Here each split has its own range of seeds, far from the others. A question that
another split has is skipped (test chooses first, then validation, then train).
"""

from __future__ import annotations

import importlib
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from dataenvgym import exact_json
from dataenvgym.domains.math.domain import FINAL_ANSWER_FORM
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, did_you_mean
from dataenvgym.options import PlainText, takes
from dataenvgym.records import ChatDatum, Conversation, SupervisedDatum, TaskInstance
from dataenvgym.records.tool_formats import said_in
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.domain import Domain, question_of
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.options import PromptOptions, TaskOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily
from dataenvgym.tasks.prompt_template import PromptTemplate
from dataenvgym.tasks.scoring import extract_final_answer
from dataenvgym.tasks.source import Source, Split

_LONGEST = 10_000  # characters of an answer that is passed to a family's code
_HUGE = re.compile(r"\d\.?[eE][+-]?[\d_]{5}")  # `Fraction("1e99999999")` takes minutes
_scoring = threading.Lock()  # the families' code may not be thread-safe

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
        importlib.import_module("reasoning_gym")  # registers the families
        factory = importlib.import_module("reasoning_gym.factory")
    except ImportError:
        raise ConfigurationError(
            "this task needs reasoning-gym: run `pip install dataenvgym[reasoning-gym]`"
        ) from None
    made_of = exact_json.loads(recipe)
    family, options = made_of["family"], made_of["options"]
    known = sorted(factory.DATASETS.keys() - EVALUATES_ANSWERS)
    if family not in known:
        raise ConfigurationError(
            f"families has {family!r}, which does not exist, or scores an answer by running it as "
            f"Python code.{did_you_mean(family, known)} There are: {', '.join(known)}"
        )
    try:
        return factory.create_dataset(family, **options, seed=made_of["seed"], size=made_of["size"])
    except (TypeError, ValueError, AssertionError) as error:
        raise ConfigurationError(
            f"family {family!r} does not take the options {options}: {error}"
        ) from error


@dataclass(frozen=True)
class ReasoningGymSkill:
    """A family of reasoning-gym; its questions have no phrasings other than their own."""

    name: str
    category: str
    phrasings: Sequence[str]


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
        recipe = self._source.recipe
        return {
            name: ReasoningGymSkill(name, dataset_of(recipe(name, "train")).category, (name,))
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
        skill = str(instance.skill)
        return self._problem(skill, question, str(instance.answer)), skill

    def holds(self, exercise: Exercise, output: str) -> bool:
        return output.strip() == exercise.output

    def _problem(self, skill: str, question: str, answer: str) -> ReasoningGymProblem:
        return ReasoningGymProblem(self.skills[skill], question, answer, self.written(answer))

    def written(self, answer: str) -> str:
        """The gold reply with that answer."""
        return self._source.options.reply.replace("{answer}", answer)

    @cached_property
    def _known(self) -> Mapping[str, TaskInstance]:
        load = self._source.load
        return {i.instruction: i for i in (*load("train"), *load("validation"))}

    @cached_property
    def _evaluated(self) -> frozenset[str]:
        load = self._source.load
        return frozenset(question_key(i.instruction) for i in (*load("validation"), *load("test")))


class ReasoningGymTask(Task):
    """Problems of some families, with equal shares; the skill is the family's name.

    Raises:
        ConfigurationError: see `ReasoningGymSource`.
    """

    @takes(ReasoningGymOptions)
    def __init__(self, options: ReasoningGymOptions) -> None:
        source = ReasoningGymSource(options)
        known = partial(training_problems, self)
        domain = ReasoningGymDomain(known, options.prompt, ReasoningGymFamily(source))
        self.set_up(source, domain, options)


class ReasoningGymDomain(Domain):
    """Problems whose answers their families judge; answers are not compared with each other.

    Args:
        known: returns problems that records may contain, such as those of a training split.
        prompt_template: the prompt around each problem.
        family: of the exercises that the embedded teacher writes.
    """

    asks_others = False
    answer_form = FINAL_ANSWER_FORM

    def __init__(
        self,
        known: Callable[[], Iterable[TaskInstance]],
        prompt_template: PromptTemplate,
        family: ReasoningGymFamily,
    ) -> None:
        self._known = known
        self.prompt_template = prompt_template
        self.family = family

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> ReasoningGymEnvironment:
        return ReasoningGymEnvironment(instances, **self.prompt_template.options)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The answer of the reply, as text."""
        return _answer_in(reply) or None

    def overlap_key(self, text: str) -> str:
        return question_key(text)

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        if instance.answer:
            yield self.family.written(instance.answer)
            yield f"<answer>{instance.answer}</answer>"

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The known problem in the record: only problems made by a family can be judged."""
        plain = question_of(record, self.prompt_template)
        return self._known_problems.get(plain.instruction) if plain else None

    @cached_property
    def _known_problems(self) -> dict[str, TaskInstance]:
        return {instance.instruction: instance for instance in self._known()}


class ReasoningGymEnvironment(TaskEnvironment):
    """One problem of a `ReasoningGymTask`, answered once, scored by its family.

    The answer is the text in the last <answer> tag, or else the text that
    `extract_final_answer` finds; a message without either scores as no answer. An answer of more
    than 10,000 characters, or with an exponent of five digits or more, is wrong. The options are
    those of `TaskEnvironment`.
    """

    max_turns = 1

    def __init__(
        self, instances: Sequence[TaskInstance] = (), *, system_prompt: str = PROMPT, **options: Any
    ):
        super().__init__(instances, system_prompt=system_prompt, **options)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        answer = _answer_in(conversation[-1].content)
        if answer is None:
            return Outcome()
        if len(answer) > _LONGEST or _HUGE.search(answer):
            return Outcome(info={"note": "scoring: the answer is too long, or a number too large"})
        with _scoring:
            dataset = dataset_of(str(instance.data["recipe"]))
            entry = dataset[int(str(instance.data["index"]))]
            if entry["question"] != instance.instruction:
                raise InvalidInstanceError(
                    f"instance {instance.id!r} is another problem in the installed reasoning-gym"
                )
            try:
                score = float(dataset.score_answer(answer, entry))
            except Exception as error:  # noqa: BLE001  a scorer that fails on an answer gives it no score
                return Outcome(info={"note": f"scoring: {type(error).__name__}: {error}"})
        if not math.isfinite(score):
            return Outcome(info={"note": f"scoring: the answer's score is {score}"})
        return Outcome(reward=score, was_correct=score >= 1.0)


def _answer_in(text: str) -> str | None:
    """The text in the last <answer> tag, or else the text marked as final answer."""
    head, mark, _ = said_in(text).rpartition("</answer>")
    _, begun, answer = head.rpartition("<answer>")
    if not mark or not begun:
        return extract_final_answer(text)
    return answer.partition("</answer>")[0].strip()
