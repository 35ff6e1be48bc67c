"""The choice that a reply gives, in the wordings that models use."""

import itertools
import string

import pytest

from dataenvgym.domains.knowledge.choice import read_choice

CITIES = ("Paris", "Rome", "Oslo", "Bern")
FORMS = ("{x}", "({x})", "**{x}**", "**{x}) {t}**", "${x}$", r"\text{{{x}}}", '"{x}"', "{x}. {t}",
         "{x}: {t}", "({l})", "{t}", "*{t}*", "option {x}", "option ({x}) {t}",
         r"\bf {x}", r"\textbf{{({x})}}\ \text{{{t}}}", r"\bm{{{x}}}", r"\left({x}\right)",
         "in fact {x}", "obviously {x}", "\uff08{x}\uff09",
         r"\text{{The answer is {x}}}")  # fmt: skip
STATED = ("The answer is {}.", "The correct answer is {}", "the answer is: {}", "Answer: {}",
          "**Answer:** {}", "Final answer: {}", "The final answer is {}.", "I choose {}.",
          "So the right choice is {}.", "The best option is {}", "The answer must be {}.",
          "I would go with {}.", "The answer to the question is {}", "The answer is clearly {}.",
          "<answer>{}</answer>", r"\boxed{{{}}}", "So $\\boxed{{{}}}$.", "#### {}",
          "First I thought the answer is A or D.\nNo: the answer is {}.",
          "Suppose the answer is A.\nThat is wrong.\n\\boxed{{{}}}")  # fmt: skip


@pytest.mark.parametrize("stated", STATED)
def test_a_stated_choice_is_read_in_every_form(stated):
    for letter, form in itertools.product("ABCD", FORMS):
        text = CITIES["ABCD".index(letter)]
        reply = stated.format(form.format(x=letter, l=letter.lower(), t=text))
        assert read_choice(reply, CITIES) == letter, reply


@pytest.mark.parametrize(
    "reply",
    ["B", "b", "(b)", "[B]", "**B**", "B.", "B) Rome", "B - Rome", "Rome!", "*Rome*",
     "Option B is correct.", "(B) is the right answer.", "B) Rome is the correct answer.",
     "Therefore, B.", "So it's B.", "I think it is B", "My answer is B, because Rome is old.",
     "The answer is not A, but B.", "The answer is B and not A.", "Answer B",
     "A) Paris\nB) Rome\nC) Oslo\nD) Bern\n\nB", "#### Reasons\nIt is old.\nThe answer is B.",
     "\u7b54\u6848\u662fB", "\u7b54\u6848\uff1aB", "\u6545\u9009\uff1aB\u3002",
     "At first I thought the answer is A, but it is B.", "A is wrong, B is correct.", "B Rome",
     "B is the answer.", "Option B, Rome, is correct.", "It is Rome.", "Rome is correct.",
     "The capital of Italy is Rome.", "<answer>\\boxed{B}</answer>", "Ans: B", "b)", "option b"],
)  # fmt: skip
def test_a_choice_is_read_without_the_word_answer(reply):
    assert read_choice(reply, CITIES) == "B"


@pytest.mark.parametrize(
    "reply",
    ["", "I do not know", "A dog is no city", "I am sure.", "I think so.", "Answer: Z",
     "The answer is Anchorage", "The answer is Romeo.", "The answer is A or B.", "\\boxed{}",
     "The answer is either Rome or Oslo", "The answer is B/C.", "The answer is not B.",
     "B is incorrect.", "Option B is not correct.", "A) Paris\nB) Rome\nC) Oslo\nD) Bern",
     "(B) is incorrect.", "I would not choose B.", "The wrong answer is B.", "\\boxed{A, B}",
     "<answer>A, B</answer>", "The answer is C++.", "The answer is D = 3.",
     "I don't think B is correct.", "It can't be B", "Choose A, B, C or D.",
     "I doubt it is Rome.", "Is it Rome?",
     "The answer is B.\n\\boxed{\\text{Madrid}}", "The answer is B.\n\\boxed{C"],
)  # fmt: skip
def test_no_choice_is_guessed(reply):
    assert read_choice(reply, CITIES) is None


def test_a_letter_before_another_word_is_a_word():
    animals = ("the cat", "a bird", "a dog", "A horse")
    for letter, text in zip("ABCD", animals, strict=True):
        name = text.split()[1]
        for article in ("A", "a", "the", "The"):
            assert read_choice(f"The answer is {article} {name}.", animals) == letter
    coli = ("E. coli", "B. subtilis", "S. aureus", "A. niger", "Only I")
    for letter, text in zip("ABCDE", coli, strict=True):
        assert read_choice(f"The answer is {text}.", coli) == letter
    digits = [*string.digits]
    assert read_choice("The answer is I think 3.", digits) is None
    assert read_choice("The answer is I.", digits) == "I"
    assert read_choice("The answer is A because 0 is first.", digits) == "A"


def test_a_number_is_not_the_beginning_of_another_one():
    numbers = ("3", "30", "-3", "3.5", "30%")
    for letter, number in zip(string.ascii_uppercase, numbers, strict=False):
        for stated in ("{}", "The answer is {}.", r"\boxed{{{}}}", "The answer is {}, as said."):
            assert read_choice(stated.format(number), numbers) == letter
    assert read_choice("The answer is 35.", numbers) is None
