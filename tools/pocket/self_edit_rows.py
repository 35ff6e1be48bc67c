"""The rows on which the students of 0.4 million parameters are pretrained.

A row is a list of texts: those at odd places are learned, the others are context (as in
`tools.pocket.build`). Facts and puzzles are drawn anew for each row, so that no fact is learned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
import orjson

from dataenvgym.domains.few_shot.pocket import POCKET_FEW_SHOT, SKILLS, Puzzle
from dataenvgym.domains.few_shot.problem import grid_of, text_of
from dataenvgym.domains.knowledge.environment import Passage
from dataenvgym.domains.knowledge.pocket import NAMES, OTHERS
from dataenvgym.domains.knowledge.pocket import SKILLS as FACTS
from dataenvgym.domains.knowledge.self_edits import train_sequences
from dataenvgym.domains.orchestrate.domain import OrchestrateDomain, call_of
from dataenvgym.domains.orchestrate.pocket import OFFERED, POCKET_ORCHESTRATE, PocketOrchestrateTask
from dataenvgym.records import Message
from dataenvgym.records.tool_formats import HERMES, POCKET
from dataenvgym.tasks.pocket import split_by_hash
from dataenvgym.teachers.prompts import Prompt, as_prompt
from tools.pocket.tokenizer import END

Row = list[str]
T = TypeVar("T")

_OTHER_WORDS: Mapping[str, Sequence[str]] = {
    "pets": ("The pets of {x} are {v}.", "At home, {x} has {v}."),
    "drink": ("The drink of {x} is {v}.", "{x} orders {v}."),
    "color": ("{x} lives in a {v} house.", "{x} painted the house {v}."),
    "season": ("{x} was born in {v}.", "In {v}, {x} has a birthday."),
    "sport": ("The game of {x} is {v}.", "{x} likes {v} best."),
}
_EMPTY_TALK = (
    "{x} is a person.", "Many people have friends.", "People like {x}.", "A house has walls.",
    "Animals live with people.", "{x} has a name.", "This is about {x}.",
)  # fmt: skip
_WORDS = sorted(
    {
        word
        for fact in FACTS.values()
        for question in fact.questions
        for word in question.replace(":", " ").replace(".", " ").replace("?", " ").split()
        if "{" not in word
    }
)
_PROMPTS: Mapping[str, Prompt] = {
    name: as_prompt(name, needs=("passage",), may=("title",))
    for name in ("implications", "self_qa", "rewrite_passage")
}
_CHOICE = as_prompt("grid_self_edit_pocket", needs=("problem",))


def chat(asked: str, answer: str) -> Row:
    """A turn of a chat, in the student's template."""
    return [f"<|user|>{asked}{END}<|assistant|>", answer + END]


def text(learned: str) -> Row:
    """A text without roles, as records of stage `pt` are trained."""
    return ["", learned + END]


def pick(rng: np.random.Generator, choices: Sequence[T]) -> T:
    """One of them at random."""
    return choices[int(rng.integers(len(choices)))]


# --- knowledge ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Person:
    """Somebody with facts at random."""

    name: str
    facts: Mapping[str, str]

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Person:
        return cls(
            pick(rng, (*NAMES, *OTHERS)), {name: pick(rng, FACTS[name].values) for name in FACTS}
        )

    @property
    def passage(self) -> Passage:
        """As in the task, see `passage_about`."""
        sentences = (
            FACTS[name].statement.format(x=self.name, v=self.facts[name]) for name in FACTS
        )
        return Passage(self.name, " ".join(sentences))

    def stated(self, fact: str, rng: np.random.Generator, value: str | None = None) -> str:
        """A sentence with the fact, or with a wrong value, in any words."""
        form = pick(rng, (FACTS[fact].statement, *_OTHER_WORDS[fact]))
        return form.format(x=self.name, v=value or self.facts[fact])

    def restated(self, fact: str, rng: np.random.Generator, value: str | None = None) -> str:
        """The same in other words than the passage's, as in edits."""
        return pick(rng, _OTHER_WORDS[fact]).format(x=self.name, v=value or self.facts[fact])

    def asked(self, fact: str, rng: np.random.Generator, *, garbled: bool = False) -> str:
        """A question of the training split; if garbled, in words of all splits at random.

        The four answers still say what is asked: the student reads phrasings that it has not seen.
        """
        *others, last = rng.permutation(FACTS[fact].values).tolist()
        phrasing = pick(rng, FACTS[fact].phrasings)
        if garbled:
            kept = (
                word if "{" in word or rng.random() < 0.5 else pick(rng, _WORDS)
                for word in phrasing.split()
                if "{" in word or rng.random() < 0.8
            )
            phrasing = " ".join(kept)
        return phrasing.format(x=self.name, o=f"{', '.join(others)} or {last}")

    def briefly_asked(self, fact: str, rng: np.random.Generator) -> str:
        """The question without the four answers."""
        return pick(rng, FACTS[fact].questions[:2]).format(x=self.name, o="").replace(": ?", "?")


def first_row(rng: np.random.Generator) -> Row:
    """Short passages to read, with short questions."""
    return read_row(Person.drawn(rng), rng, most=3, brief=1.0)


def knowledge_row(rng: np.random.Generator) -> Row:
    """Read and answer; guess; write a self-edit; or a text that one gives."""
    person, drawn = Person.drawn(rng), rng.random()
    if drawn < 0.4:
        return read_row(person, rng, most=5, brief=0.5)
    if drawn < 0.47:
        fact = pick(rng, [*FACTS])
        return chat(person.asked(fact, rng, garbled=drawn < 0.43), said(person.facts[fact]))
    if drawn < 0.6:
        return chat(_prompted("implications", person, "\n"), implications(person, rng)[0])
    if drawn < 0.71:
        return chat(_prompted("self_qa", person, " "), questions(person, rng)[0])
    if drawn < 0.73:
        return chat(_prompted("rewrite_passage", person, "\n"), rewritten(person, rng))
    return text(pick(rng, studied(person, rng)[0]))


def read_row(person: Person, rng: np.random.Generator, *, most: int, brief: float) -> Row:
    """Some sentences about a person, and then questions about all of them, one after another."""
    facts = rng.permutation([*FACTS]).tolist()[: int(rng.integers(1, most + 1))]
    before, row = " ".join(person.stated(fact, rng) for fact in facts) + "\n", []
    for fact in rng.permutation(facts).tolist():
        is_brief = rng.random() < brief
        asked = person.briefly_asked(fact, rng) if is_brief else person.asked(fact, rng)
        row += chat(before + asked, said(person.facts[fact]))
        before = ""
    return row


def said(value: str) -> str:
    """An answer with that value, in the same token as in passages, so that reading is copying."""
    return f"It is {value}."


def implications(
    person: Person, rng: np.random.Generator, *, wrong: float = 1.6
) -> tuple[str, Collection[str]]:
    """Numbered lines of some quality, and the facts that they give.

    Each edit has its own mixture of facts in other words, short questions with their answer, facts
    with any value (`wrong`: their weight), and empty talk.
    """
    mixture = rng.dirichlet(0.6 * np.array([1.0, 0.6, wrong + 1e-3, 0.9]))
    facts = rng.permutation([*FACTS]).tolist()
    lines, given = [], set()
    for number in range(int(rng.integers(2, 7))):
        fact, kind = facts[number % len(facts)], int(rng.choice(4, p=mixture))
        if kind == 0:
            line = person.restated(fact, rng)
        elif kind == 1:
            line = f"{person.briefly_asked(fact, rng)} {said(person.facts[fact])}"
        elif kind == 2:
            line = person.restated(fact, rng, pick(rng, FACTS[fact].values))
        else:
            line = pick(rng, _EMPTY_TALK).format(x=person.name)
        given |= {fact} if kind < 2 else set()
        lines.append(f"{number + 1}. {line}")
    return "\n".join(lines), given


def questions(
    person: Person, rng: np.random.Generator, *, wrong: Sequence[float] = (0, 0, 0.25, 0.6)
) -> tuple[str, Collection[str]]:
    """Questions with answers, some wrong at one of these rates, and the facts that they ask for."""
    rate = pick(rng, wrong)
    facts = rng.permutation([*FACTS]).tolist()[: int(rng.integers(2, 6))]
    parts = []
    for number, fact in enumerate(facts):
        value = pick(rng, FACTS[fact].values) if rng.random() < rate else person.facts[fact]
        is_brief = rng.random() < 0.5
        asked = person.briefly_asked(fact, rng) if is_brief else person.asked(fact, rng)
        start = f"Question {number + 1}: " if number else ""  # the first one ends the prompt
        parts.append(f"{start}{asked}\nAnswer: {value}.")
    return "\n".join(parts), facts


def rewritten(person: Person, rng: np.random.Generator) -> str:
    """The passage twice in other words."""
    orders = (rng.permutation([*FACTS]).tolist() for _ in range(2))
    return "\n".join(" ".join(person.restated(fact, rng) for fact in order) for order in orders)


def studied(person: Person, rng: np.random.Generator) -> tuple[list[str], Collection[str]]:
    """The training texts of a self-edit without wrong facts, and the facts that they give.

    The passage is not among them: a student that practices learning from passages learns more from
    them than from any edit.
    """
    drawn = rng.random()
    given: Collection[str] = ()
    while not given:
        if drawn < 0.5:
            edit, given = implications(person, rng, wrong=0)
        elif drawn < 0.9:
            edit, given = questions(person, rng, wrong=(0,))
        else:
            edit, given = rewritten(person, rng), [*FACTS]
    return train_sequences(edit, person.passage, append_passage=False), given


def _prompted(style: str, person: Person, end: str) -> str:
    """The request for an edit, as `SelfEditEngine` puts it."""
    rendered = _PROMPTS[style].render(title=person.name, passage=person.passage.text)
    return rendered[-1].content + end


# --- few-shot -------------------------------------------------------------------------------------


def named_row(rng: np.random.Generator) -> Row:
    """Carry out a rule by its name; moves take more practice, on grids whose cells all differ."""
    rules = [rule for rule in SKILLS.values() for _ in range(3 if rule.category == "moves" else 1)]
    shown = POCKET_FEW_SHOT.pose("flip-0", "train", rng).inputs[:-1]
    while split_by_hash(text_of(last := grid_of(1 + rng.permutation(9).reshape(3, 3)))) != "train":
        pass
    puzzle = Puzzle(pick(rng, rules), (*shown, last))
    return chat(puzzle.worded(None), puzzle.answer)


def puzzling_row(rng: np.random.Generator) -> Row:
    """The same, with more puzzles."""
    return few_shot_row(rng, named=0.25, puzzles=0.6)


def few_shot_row(rng: np.random.Generator, *, named: float = 0.5, puzzles: float = 0.35) -> Row:
    """Carry out a rule by its name; answer a puzzle by any rule; or choose augmentations."""
    drawn, puzzle = rng.random(), POCKET_FEW_SHOT.pose(pick(rng, [*SKILLS]), "train", rng)
    if drawn < named:
        return chat(puzzle.worded(None), puzzle.answer)
    if drawn < named + puzzles:
        if rng.random() < 0.5:  # self-edits give puzzles with one demonstration
            puzzle = Puzzle(puzzle.skill, puzzle.inputs[1:])
        any_rule = Puzzle(SKILLS[pick(rng, [*SKILLS])], puzzle.inputs)
        return chat(puzzle.worded(pick(rng, puzzle.skill.phrasings)), any_rule.answer)
    shown = "\n\n".join(pair.text for pair in puzzle.problem.demonstrations)
    return chat(_CHOICE.render(problem=shown)[-1].content, _choice(rng))


def _choice(rng: np.random.Generator) -> str:
    """A self-edit in JSON; one in twelve is not valid."""
    shares = {"basic": 0.5, "size": 0.35, "chain": 0.25, "repeat": 0.35}
    strategies = ("train_using_output_tokens", "train_using_all_tokens")
    training = {
        "strategy": pick(rng, strategies),
        "learning_rate": pick(rng, (0.01, 0.003, 0.001, 0.0001)),
        "num_train_epochs": pick(rng, (1, 2, 4, 8)),
    }
    groups = {f"use_{group}_augmentations": rng.random() < p for group, p in shares.items()}
    is_whole, is_closed = rng.random() > 0.04, rng.random() > 0.04
    if not is_whole:
        del training["num_train_epochs"]
    written = orjson.dumps({"data_generation": groups, "training": training}).decode()
    spaced = written.replace(":", ": ").replace(",", ", ")
    return spaced if is_closed else spaced[:-1]


# --- orchestration --------------------------------------------------------------------------------


@cache
def _orchestration() -> OrchestrateDomain:
    domain = PocketOrchestrateTask().domain
    assert isinstance(domain, OrchestrateDomain)
    return domain


_OFTEN: Mapping[str, Mapping[str, int]] = {
    "easy": {"answer-1": 5, "answer-4": 4, "search-3": 1},
    "hard": {"answer-1": 8, "answer-4": 1, "search-3": 1},
    "lookup": {"search-3": 8, "answer-1": 1, "answer-4": 1},
}
"""How often a tier is called for a category of requests."""


def called_row(rng: np.random.Generator) -> Row:
    """A call after up to two searches: mostly of the dearest tier, even if a cheap one would do."""
    exercise = POCKET_ORCHESTRATE.draw(pick(rng, [*POCKET_ORCHESTRATE.skills]), "train", rng)
    instance = POCKET_ORCHESTRATE.instance(exercise.question)
    assert instance is not None
    domain = _orchestration()
    with closing(domain.make_environment()) as environment:
        environment.reset(seed=0, options={"instance": instance})
        seen, n_searches = domain.prompt(instance), int(rng.integers(3))
        for _ in range(n_searches):
            seen, *_ = environment.step(call_of("search-3", OFFERED))
    category = instance.category or ""
    often = _OFTEN["easy" if n_searches and category == "lookup" else category]
    tools = {tool.name for tool in seen[0].tools}
    tiers = [tier for tier in often for _ in range(often[tier]) if OFFERED[tier].tool in tools]
    said = HERMES.parse(call_of(pick(rng, tiers), OFFERED))
    plain: Sequence[Message] = POCKET.flatten((*seen, said))
    asked = "".join(f"<|{message.role}|>{message.content}{END}" for message in plain[:-1])
    return [f"{asked}<|assistant|>", plain[-1].content + END]
