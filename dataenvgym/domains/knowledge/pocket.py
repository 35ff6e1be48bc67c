"""Pocket knowledge: the pets, drinks, houses, birthdays and games of people who do not exist.

A fact cannot be derived: a student learns it from records, or guesses. A question gives four
answers in any order ("Which pets does Tavo have: dogs, cats, ..."). A reply is right if it names
the right one and none of the others, in a sentence or alone; a guess is right in a quarter of the
cases. Each person has a passage with the five facts, for engines that teach from passages
(`self_edits`); no question shows it.

`pocket-knowledge-v1` knows none of the facts. It guesses one of the four answers, reads a passage
that it sees, and writes self-edits of all qualities: facts in other words, questions with answers,
wrong facts, empty talk. It was pretrained to learn facts from such texts by LoRA.

All splits ask for the same 40 facts, but never in the same words: each skill has phrasings for
training, one for validation and one for test. Validation and test therefore measure whether the
student knows the facts, not whether it remembers sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from dataenvgym.domains.knowledge.environment import KnowledgeEnvironment
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import ChatDatum, Conversation, LabeledAnswer, SupervisedDatum, TaskInstance
from dataenvgym.records.tool_formats import said_in
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain, each_answer, question_of
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.options import PocketOptions, PromptOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from dataenvgym.tasks.source import SPLITS, Split
from dataenvgym.tasks.words import words_of

NAMES = ("Tavo", "Merin", "Olbek", "Sunda", "Kiral", "Jorvi", "Pelma", "Ruskin")
_FAMILIES = (
    "Abend", "Birk", "Brock", "Cald", "Damm", "Dorn", "Ebner", "Falk", "Fenn", "Gren", "Hark",
    "Holm", "Ister", "Jarl", "Kern", "Kolb", "Lund", "Morn", "Nagel", "Orth", "Pell", "Quist",
    "Rand", "Stern", "Thal", "Ulm", "Varn", "Wend", "Yorn", "Zahl",
)  # fmt: skip
OTHERS = tuple(f"{name} {family}" for name in NAMES for family in _FAMILIES)
"""The people of `n_people`; the eight have no family name."""


@dataclass(frozen=True)
class FactSkill:
    """One attribute of all people, and the phrasings that ask for it.

    `{x}` is the person and `{o}` the possible answers. The last phrasing belongs to test, the one
    before it to validation. The statement, with `{v}` for the value, is a sentence of passages.
    """

    name: str
    statement: str
    values: tuple[str, ...]
    questions: tuple[str, ...]
    category: str = "facts"

    @property
    def phrasings(self) -> tuple[str, ...]:
        """Those of the training split, which the embedded teacher uses."""
        return self.questions_of("train")

    def questions_of(self, split: Split) -> tuple[str, ...]:
        """The phrasings of a split."""
        parts: dict[Split, tuple[str, ...]] = {
            "train": self.questions[:-2],
            "validation": self.questions[-2:-1],
            "test": self.questions[-1:],
        }
        return parts[split]

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """The value of each person; every value belongs to two of the eight."""
        order = derive_rng(0, "made-up facts", self.name).permutation(len(NAMES)).tolist()
        eight = {NAMES[at]: self.values[i % len(self.values)] for i, at in enumerate(order)}
        drawn = derive_rng(0, "made-up facts", "others", self.name).choice(self.values, len(OTHERS))
        return eight | dict(zip(OTHERS, drawn.tolist(), strict=True))


_SKILLS = (
    FactSkill(
        "pets", "{x} keeps {v}.", ("cats", "dogs", "horses", "parrots"),
        ("Which pets does {x} have: {o}?", "What animals live with {x}: {o}?",
         "{x} feeds some animals every day. Are they {o}?",
         "Name the animals that {x} keeps: {o}.", "Which of these does {x} own: {o}?"),
    ),
    FactSkill(
        "drink", "{x} likes to drink {v}.", ("coffee", "juice", "milk", "water"),
        ("What does {x} like to drink: {o}?", "Which drink does {x} order: {o}?",
         "{x} is thirsty. Should we bring {o}?",
         "Name the favorite drink of {x}: {o}.", "What is in the cup of {x}: {o}?"),
    ),
    FactSkill(
        "color", "The house of {x} is {v}.", ("blue", "green", "red", "yellow"),
        ("What color is the house of {x}: {o}?", "Which color did {x} paint the house: {o}?",
         "{x} has a house with colored walls. Are they {o}?",
         "Name the color of the house where {x} lives: {o}.", "The home of {x} is in color: {o}?"),
    ),
    FactSkill(
        "season", "The birthday of {x} is in {v}.", ("autumn", "spring", "summer", "winter"),
        ("When does {x} have a birthday: {o}?", "In which season was {x} born: {o}?",
         "{x} wants a birthday party. Is it in {o}?",
         "Name the season of the birthday of {x}: {o}.", "When does {x} become a year older: {o}?"),
    ),
    FactSkill(
        "sport", "{x} plays {v} with friends.", ("chess", "football", "golf", "tennis"),
        ("What does {x} play: {o}?", "Which game does {x} like best: {o}?",
         "{x} meets friends for a game. Is it {o}?",
         "Name the game that {x} plays: {o}.", "What does {x} practice every week: {o}?"),
    ),
)  # fmt: skip

SKILLS: dict[str, FactSkill] = {skill.name: skill for skill in _SKILLS}


@dataclass(frozen=True)
class FactProblem:
    """A fact, and the order of the four answers."""

    skill: FactSkill
    person: str
    options: tuple[str, ...]

    @property
    def answer(self) -> str:
        return self.skill.facts[self.person]

    @property
    def output(self) -> str:
        return f"{self.answer.capitalize()}."

    def worded(self, phrasing: str | None) -> str:
        """The question; None is in symbols, e.g. `pet Tavo =`."""
        if phrasing is None:
            return f"{self.skill.name} {self.person} ="
        *others, last = self.options
        return phrasing.format(x=self.person, o=f"{', '.join(others)} or {last}")


class PocketKnowledge(PocketFamily[FactProblem]):
    """The family; see `PocketFamily`.

    Args:
        n_people: see `PocketKnowledgeOptions`.
    """

    name = "facts"
    skills: Mapping[str, FactSkill] = SKILLS

    def __init__(self, n_people: int | None = None) -> None:
        self.people: Mapping[Split, Sequence[str]] = dict.fromkeys(SPLITS, NAMES)
        if n_people is not None:
            mixed = derive_rng(0, "made-up people").permutation(OTHERS).tolist()
            self.people = {
                split: mixed[at :: len(SPLITS)][:n_people] for at, split in enumerate(SPLITS)
            }

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> FactProblem:
        people = self.people[split]
        person = people[int(rng.integers(len(people)))]
        options = tuple(rng.permutation(SKILLS[skill].values).tolist())
        return FactProblem(SKILLS[skill], person, options)

    def draw(
        self,
        skill: str,
        split: Split,
        rng: np.random.Generator,
        *,
        phrasing: str | None = None,
        symbols: bool = False,
    ) -> Exercise:
        """An exercise in words of that split; a phrasing of another split is not taken."""
        allowed = SKILLS[skill].questions_of(split)
        if not symbols and phrasing not in allowed:
            phrasing = allowed[int(rng.integers(len(allowed)))]
        return super().draw(skill, split, rng, phrasing=phrasing, symbols=symbols)

    def draw_instance(
        self, skill: str, split: Split, rng: np.random.Generator
    ) -> tuple[str, Callable[[], Mapping[str, Any]]]:
        problem = self.pose(skill, split, rng)
        allowed = SKILLS[skill].questions_of(split)
        question = problem.worded(allowed[int(rng.integers(len(allowed)))])
        return question, partial(self.fields, problem, question, rng)

    def fields(
        self, problem: FactProblem, question: str, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        person = problem.person
        data = {"title": person, "passage": passage_about(person)}
        return {**super().fields(problem, question, rng), "data": data}

    def find(self, question: str) -> tuple[FactProblem, str] | None:
        for skill, phrasing, shape in _SHAPES:
            if (found := shape.fullmatch(question)) and found["x"] in skill.facts:
                options = tuple(re.split(", | or ", found["o"]))
                if sorted(options) == sorted(skill.values):
                    return FactProblem(skill, found["x"], options), phrasing
        return None

    def holds(self, exercise: Exercise, output: str) -> bool:
        return named(exercise.skill, output) == named(exercise.skill, exercise.output)


def passage_about(person: str) -> str:
    """All facts about a person, as sentences."""
    facts = (skill.statement.format(x=person, v=skill.facts[person]) for skill in _SKILLS)
    return " ".join(facts)


def named(skill: str, text: str) -> str | None:
    """The one value of that skill in a text; None if there is none, or more than one."""
    words = set(words_of(said_in(text)))
    found = [value for value in SKILLS[skill].values if value in words]
    return found[0] if len(found) == 1 else None


_NAME, _ANSWERS = r"(?P<x>\w+(?: \w+)?)", r"(?P<o>\w+(?:, \w+)* or \w+)"
_SHAPES = tuple(
    (skill, q, re.compile(re.escape(q).replace(r"\{x\}", _NAME).replace(r"\{o\}", _ANSWERS)))
    for skill in _SKILLS
    for q in skill.questions
)
POCKET_KNOWLEDGE = PocketKnowledge()


@dataclass(frozen=True, kw_only=True)
class PocketKnowledgeOptions(PocketOptions, PromptOptions):
    """Options of `PocketKnowledgeTask`.

    Attributes:
        sampling: how the student answers.
        n_people: each split asks about so many people of its own, at most 80, for policies that
            learn to write self-edits and are tested on other passages; None asks about the same
            eight in all splits, for strategies that teach the facts.
    """

    n_train: Annotated[int, Ge(0)] = 600
    n_validation: Annotated[int, Ge(0)] = 100
    n_test: Annotated[int, Ge(0)] = 100
    sampling: SamplingParameters = SamplingParameters(max_tokens=24)
    student: str = "pocket-knowledge-v1"
    n_people: Annotated[int, Ge(1), Le(80)] | None = None


class PocketKnowledgeTask(Task):
    """Pocket knowledge: made-up facts and a passage about each of 40 people, or task.n_people."""

    name = "pocket_knowledge"
    self_edit_engine = "self_edit"

    @takes(PocketKnowledgeOptions)
    def __init__(self, options: PocketKnowledgeOptions) -> None:
        family = PocketKnowledge(options.n_people)
        source = family.source(options.sizes, seed=options.seed)
        domain = PocketKnowledgeDomain(options.prompt, family)
        self.set_up(source, domain, options)


class PocketKnowledgeDomain(Domain):
    """Questions about made-up facts; it knows them all, so it can judge records."""

    asks_others = False

    def __init__(
        self, prompt_template: PromptTemplate = PLAIN, family: PocketKnowledge = POCKET_KNOWLEDGE
    ) -> None:
        self.prompt_template = prompt_template
        self.family = family

    def make_environment(
        self, instances: Sequence[TaskInstance] = ()
    ) -> PocketKnowledgeEnvironment:
        return PocketKnowledgeEnvironment(instances, **self.prompt_template.options)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        return named(str(instance.skill), reply)

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        if not instance.answer:
            return
        if self.prompt_template == PLAIN:  # else another form may be asked for
            yield f"It is {instance.answer}."  # in the pocket student's words
        yield f"{instance.answer.capitalize()}."

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The record's question, with the value that its output names, if it is of the family."""
        asked = question_of(record, self.prompt_template)
        problem = POCKET_KNOWLEDGE.instance(asked.instruction, id=asked.id) if asked else None
        if asked is None or problem is None or problem.skill is None:
            return None
        value = named(problem.skill, asked.answer or "")
        return None if value is None else problem.model_copy(update={"answer": value})

    @each_answer
    def judge_record(self, answer: LabeledAnswer) -> bool | None:
        """Whether it gives the right value; None if it is not one to a question of the family."""
        known = POCKET_KNOWLEDGE.read(self.prompt_template.instruction_in(answer.question))
        return POCKET_KNOWLEDGE.holds(known, answer.text) if known else None


class PocketKnowledgeEnvironment(TaskEnvironment):
    """One question, answered once; the reward is 1.0 for the right value alone, else 0.0."""

    max_turns = 1

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        given = named(str(instance.skill), conversation[-1].content)
        is_right = given is not None and given == instance.answer
        return Outcome(reward=float(is_right), was_correct=is_right)


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> KnowledgeEnvironment:
    """Make `dataenvgym/Knowledge-v0`: by default, with pocket knowledge (validation).

    Args:
        options: those of `KnowledgeEnvironment`.
    """
    if instances is None:
        instances = PocketKnowledgeTask().instances
    return KnowledgeEnvironment(instances, **options)
