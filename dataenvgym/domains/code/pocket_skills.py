"""The skills of pocket code: the results of functions of one argument, and their wordings.

`SKILLS` use the few words that a pocket student knows, and names that say nothing.
`ENGLISH_SKILLS` are the same functions for language models: plain English, and names that say
what a function does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

FUNCTIONS = (
    "solve", "answer", "make", "build", "run", "work", "get", "compute", "helper", "main",
    "process", "handle", "task", "apply", "result", "create", "derive", "obtain", "produce",
    "convert", "extract", "prepare", "serve", "step",
)  # fmt: skip
ARGUMENTS = (
    "xs", "ys", "data", "values", "given", "source", "entry", "record", "thing", "stuff", "parts",
    "content", "series", "batch", "input", "row",
)  # fmt: skip
_FRAMES = (
    "Write {f}({a}) that returns {wanted}.",
    "Define {f}({a}) to give {wanted}.",
    "I need {f}({a}) for {wanted}.",
)


@dataclass(frozen=True)
class PocketCodeSkill:
    """One function: its result, and the wordings that ask for it.

    `expression` and `wants` contain `{a}` for the argument and, in some skills, `{k}` for a digit;
    `arguments` makes a random argument to call it with. Questions have `frames`, one for each of
    `wants`, and any names of `functions` and `parameters`.
    """

    name: str
    category: str
    symbol: str
    wants: tuple[str, str, str]
    expression: str
    arguments: Callable[[np.random.Generator], Any]
    frames: tuple[str, str, str] = _FRAMES
    functions: tuple[str, ...] = FUNCTIONS
    parameters: tuple[str, ...] = ARGUMENTS

    @property
    def has_digit(self) -> bool:
        return "{k}" in self.expression

    @property
    def signatures(self) -> tuple[tuple[str, str], ...]:
        """All pairs of the names of a function and of its argument."""
        return tuple((f, a) for f in self.functions for a in self.parameters)

    @property
    def phrasings(self) -> tuple[str, ...]:
        """The frames with the wanted result filled in; `{f}`, `{a}` and `{k}` remain."""
        return tuple(
            frame.replace("{wanted}", wanted)
            for frame, wanted in zip(self.frames, self.wants, strict=True)
        )


# --- arguments to call it with ------------------------------------------------------------------


def _numbers(rng: np.random.Generator) -> list[int]:
    """4 to 7 integers from -12 to 12, not sorted, one of them twice, even and odd ones."""
    size = int(rng.integers(3, 7))
    numbers: list[int] = rng.integers(-12, 13, size).tolist()
    numbers.append(numbers[0])
    rng.shuffle(numbers)
    telling = numbers != sorted(numbers) and numbers != sorted(numbers, reverse=True)
    return numbers if telling and len({n % 2 for n in numbers}) == 2 else _numbers(rng)


def _digits(rng: np.random.Generator) -> list[int]:
    """The digits 0 to 10 in random order, so that some are above any threshold."""
    numbers: list[int] = rng.permutation(11).tolist()
    return numbers


_WORDS = ("Pine", "oak", "River", "stone", "leaf", "Cloud", "rain", "Fern")


def _text(rng: np.random.Generator) -> str:
    """2 to 4 different words with spaces between them; one begins with a capital, not all do."""
    words = rng.choice(_WORDS, int(rng.integers(2, 5)), replace=False).tolist()
    return " ".join(words) if len({w[0].isupper() for w in words}) == 2 else _text(rng)


_SKILLS = (
    # folding a list
    PocketCodeSkill("maximum", "folding", "max", (
        "the biggest item", "the item that is biggest", "the biggest of the items",
    ), "max({a})", _numbers),
    PocketCodeSkill("minimum", "folding", "min", (
        "the tiniest item", "the item that is tiniest", "the tiniest of the items",
    ), "min({a})", _numbers),
    PocketCodeSkill("summed", "folding", "sum", (
        "all items added up", "the items added up", "what the items make added up",
    ), "sum({a})", _numbers),
    PocketCodeSkill("distinct_count", "folding", "uniq", (
        "how many distinct items there are", "how many items are distinct",
        "the number of distinct items",
    ), "len(set({a}))", _numbers),
    # order
    PocketCodeSkill("sorted_up", "ordering", "up", (
        "the items arranged upward", "the items going upward", "an upward list of the items",
    ), "sorted({a})", _numbers),
    PocketCodeSkill("sorted_down", "ordering", "down", (
        "the items arranged downward", "the items going downward",
        "a downward list of the items",
    ), "sorted({a}, reverse=True)", _numbers),
    PocketCodeSkill("flipped", "ordering", "flip", (
        "the items flipped around", "the flipped items", "a flipped list of the items",
    ), "{a}[::-1]", _numbers),
    PocketCodeSkill("tail", "ordering", "tail", (
        "the items but the opening one", "the items after the opening one",
        "a list without the opening item",
    ), "{a}[1:]", _numbers),
    # choice
    PocketCodeSkill("even_items", "choosing", "even", (
        "the items that two divides", "those items that two divides",
        "a list of items that two divides",
    ), "[x for x in {a} if x % 2 == 0]", _numbers),
    PocketCodeSkill("positive_items", "choosing", "pos", (
        "the positive items", "those items that are positive", "a list of positive items",
    ), "[x for x in {a} if x > 0]", _numbers),
    PocketCodeSkill("items_over", "choosing", "over", (
        "the items over {k}", "those items that are over {k}", "a list of items over {k}",
    ), "[x for x in {a} if x > {k}]", _digits),
    PocketCodeSkill("items_under", "choosing", "under", (
        "the items under {k}", "those items that are under {k}", "a list of items under {k}",
    ), "[x for x in {a} if x < {k}]", _digits),
    # changing every item
    PocketCodeSkill("raised", "changing", "plus", (
        "every item raised by {k}", "the items raised by {k} each",
        "a list with every item raised by {k}",
    ), "[x + {k} for x in {a}]", _numbers),
    PocketCodeSkill("scaled", "changing", "times", (
        "every item scaled by {k}", "the items scaled by {k} each",
        "a list with every item scaled by {k}",
    ), "[x * {k} for x in {a}]", _numbers),
    PocketCodeSkill("squared", "changing", "square", (
        "every item squared", "the items squared each", "a list with every item squared",
    ), "[x * x for x in {a}]", _numbers),
    PocketCodeSkill("negated", "changing", "neg", (
        "every item with its sign changed", "the items with each sign changed",
        "a list with every sign changed",
    ), "[-x for x in {a}]", _numbers),
    # text
    PocketCodeSkill("capitals", "text", "caps", (
        "the text in capitals", "capitals for the whole text", "the same text in capitals",
    ), "{a}.upper()", _text),
    PocketCodeSkill("word_count", "text", "words", (
        "how many words the text has", "the number of words of the text",
        "a number that says how many words there are",
    ), "len({a}.split())", _text),
    PocketCodeSkill("repeated", "text", "rep", (
        "the text {k} times over", "{k} times the text", "the same text {k} times",
    ), "{a} * {k}", _text),
    PocketCodeSkill("last_word", "text", "last", (
        "the closing word of the text", "the closing word", "the word closing the text",
    ), "{a}.split()[-1]", _text),
)  # fmt: skip

SKILLS: dict[str, PocketCodeSkill] = {skill.name: skill for skill in _SKILLS}


# --- the same skills in plain English -----------------------------------------------------------

_ENGLISH_FRAMES = (
    "Write a Python function {f}({a}) that returns {wanted}.",
    "Define a Python function {f}({a}). It returns {wanted}.",
    "I need a Python function {f}({a}) that returns {wanted}.",
)
_LISTS = (
    "numbers", "values", "items", "data", "nums", "entries", "elements", "series", "array", "seq",
    "sequence", "given",
)  # fmt: skip
_TEXTS = (
    "text", "sentence", "phrase", "line", "message", "words", "string", "title", "content", "label",
    "quote", "given",
)  # fmt: skip
_ENGLISH = {
    "maximum": ("the largest number in the list", "largest biggest find_max maximum highest"),
    "minimum": ("the smallest number in the list", "smallest find_min minimum lowest least"),
    "summed": ("the sum of the numbers in the list", "total sum_list add_up sum_all sum_of"),
    "distinct_count": ("how many different numbers are in the list",
        "count_distinct count_unique count_different distinct unique_count"),
    "sorted_up": ("the numbers in ascending order",
        "sort_ascending ascending sort_up smallest_first in_order"),
    "sorted_down": ("the numbers in descending order",
        "sort_descending descending sort_down largest_first reverse_sorted"),
    "flipped": ("the list in reverse order", "reverse_list reverse backward flip reversed_list"),
    "tail": ("the list without its first item",
        "without_first drop_first rest skip_first remove_first"),
    "even_items": ("a list of the even numbers",
        "even_numbers evens get_evens only_even keep_even"),
    "positive_items": ("a list of the positive numbers",
        "positive_numbers positives get_positives only_positive keep_positive"),
    "items_over": ("a list of the numbers greater than {k}",
        "greater_than above over keep_greater filter_above"),
    "items_under": ("a list of the numbers less than {k}",
        "less_than below under keep_less filter_below"),
    "raised": ("a list with {k} added to each number",
        "add_to_each add_to_all increase increment raise_all"),
    "scaled": ("a list with each number multiplied by {k}",
        "multiply_each multiply_all scale multiply times"),
    "squared": ("a list with the square of each number",
        "squares square_all square_each squared square_list"),
    "negated": ("a list with the sign of each number changed",
        "negate_all negate change_signs opposites negative_of_each"),
    "capitals": ("the text in capital letters", "uppercase to_upper capitals upper shout"),
    "word_count": ("the number of words in the text",
        "count_words word_count number_of_words how_many_words words_in"),
    "repeated": ("the text repeated {k} times", "repeat repeat_text multiply_text again copies"),
    "last_word": ("the last word of the text",
        "last_word final_word get_last_word ending_word find_last_word"),
}  # fmt: skip
"""What each function returns, and its names; a name belongs to one skill."""

ENGLISH_SKILLS: dict[str, PocketCodeSkill] = {
    name: replace(
        SKILLS[name],
        wants=(wanted,) * 3,
        frames=_ENGLISH_FRAMES,
        functions=tuple(functions.split()),
        parameters=_TEXTS if SKILLS[name].category == "text" else _LISTS,
    )
    for name, (wanted, functions) in _ENGLISH.items()
}
