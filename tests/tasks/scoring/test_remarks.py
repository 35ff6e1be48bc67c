"""Words around a stated answer: what is not part of it, and what is."""

from random import Random

import pytest

from dataenvgym.tasks.scoring import extract_final_answer, grade_pairs

LEADS = (
    "about", "approximately", "approx.", "roughly", "around", "exactly", "~", "\N{ALMOST EQUAL TO}",
    "in fact", "close to", r"\approx", "the total, which is", "just about",
)  # fmt: skip
REMARKS = (
    ", altogether", ", in total", " clips", " clips, altogether", " (in dollars)", " (clips)",
    " (US dollars)", "; he needs them all", ", which is the total", " because it doubles",
    ", as shown above", " \N{EM DASH} he sold them", " dollars for the week", ", right",
    " clips (48 in April and 24 in May)", ", rather than 9", " [in total]", ", done",
    " clips sold in April and May", ", in words, a few", ".\nI hope this helps", "\n(in dollars)",
)  # fmt: skip
OPEN = (
    " or 8", " or more", ", or 8", " (or 8)", ", 8", ", y = 3", " and a half", ", no, wait",
    " (mod 7)", " - pi", " times two", ":4", ", eight", ", even", " (8 of 9, not 7)", " (0.5)",
    " [8]", " (and a half)", " in half", ", or seventy",
)  # fmt: skip
NOT = (
    "more than", "less than", "at least", "not", "minus", "half of", "between 3 and", "twice",
    "no more than", "sin",
)  # fmt: skip
NUMBERS = [
    ("72", "73"),
    ("1,234", "1234.5"),
    ("0.5", "0.05"),
    ("-3", "3"),
    (r"\frac{3}{4}", "4/3"),
    ("3/8", "0.38"),
]


def _score(replies):
    """Whether each reply's answer equals its gold, in both directions."""
    answers = [extract_final_answer(reply) or "" for reply, _ in replies]
    golds = [gold for _, gold in replies]
    forth = grade_pairs(list(zip(golds, answers, strict=True)))
    back = grade_pairs(list(zip(answers, golds, strict=True)))
    assert [v.equal for v in forth] == [v.equal for v in back]
    return [v.equal for v in forth]


def _replies(number):
    yield f"The answer is {number}."
    for lead in LEADS:
        yield f"The answer is {lead} {number}."
        yield f"#### {lead} {number}".replace("the total, which is ", "")
    for remark in REMARKS:
        yield f"So the final answer is {number}{remark}."
    for mark in (
        "**Answer: {}**",
        "Answer: {} apples.",
        "\\boxed{{\\approx {}}}",
        "The answer equals {}.",
    ):
        yield mark.format(number)


@pytest.mark.parametrize(("number", "other"), NUMBERS)
def test_a_remark_is_not_part_of_a_stated_answer(number, other):
    replies = list(_replies(number))
    right = _score([(reply, number) for reply in replies])
    assert [r for r, is_right in zip(replies, right, strict=True) if not is_right] == []
    assert not any(_score([(reply, other) for reply in replies]))


def test_what_changes_the_value_stays():
    replies = [f"The answer is 7{rest}." for rest in OPEN]
    replies += [f"The answer is {word} 7." for word in NOT]
    replies += ["The answer is (7, 4).", "The answer is 7,234.", "The answer is [7, 9).", "7 or 8"]
    right = _score([(reply, "7") for reply in replies])
    assert [r for r, is_right in zip(replies, right, strict=True) if is_right] == []


EQUAL = [
    ("The answer is 0.5, or 50%.", "0.5"), ("The answer is 0.75 (75%).", "3/4"),
    ("The answer is 72 (seventy-two).", "72"), ("The final answer is 7, i.e. seven.", "7"),
    ("The answer is x = 7, y = 3.", "x=7,y=3"), ("The answer is (3, 4), in order.", "(3,4)"),
    ("Therefore, 72", "72"), ("The final answer is $72$ dollars.", "72"),
    (r"\boxed{\approx 3.14}", "3.14"), (r"\boxed{x \approx 3.14}", "3.14"),
    ("The answer is 5 more.", "5"), ("The answer is 3 times.", "3"),
    ("The answer is 180 minutes (3 hours).", "180"), (r"\boxed{\text{about 3.14}}", "3.14"),
    ("The answer is $0.5$, or $50\\%$.", "0.5"), ("**44**", "44"),
    ("The answer is 40.", "40 (in dollars)"), ("#### 40", "40; he needs them all."),
]  # fmt: skip
UNEQUAL = [
    ("The answer is 72 if i = 2.", "72"), (r"2\sin (2\pi x)", r"2\sin"),
    ("The answer is $2$ or $3$.", "2"), ("The answer is 1/2 (0.6).", "0.5"),
    ("The answer is 0.5, or 60%.", "0.5"), ("The answer is 40 (in dollars).", "40 euros"),
    ("The answer is 3, odd.", "3, even"), ("#### 7", "7 or 8"), ("#### 3", "3, 4, in total"),
    ("#### 5", "5 cm, 5 m"), ("She has 72 clips.", "72"), ("1. 2", "1"),
]  # fmt: skip


def test_golds_may_have_remarks_and_both_sides_may_state_a_value_twice():
    assert [r for r, ok in zip(EQUAL, _score(EQUAL), strict=True) if not ok] == []
    assert [r for r, ok in zip(UNEQUAL, _score(UNEQUAL), strict=True) if ok] == []


@pytest.mark.slow
def test_a_wrong_number_is_never_right_whatever_is_around_it():
    random = Random(0)
    leads, remarks = LEADS, (*REMARKS, *OPEN)
    replies = []
    for _ in range(3_000):
        number = random.choice([random.randint(-99, 9_999), round(random.uniform(0, 99), 2)])
        wrong = random.choice([number + 1, number * 10 + 1, f"{number}7", -number - 1])
        text = f"{random.choice(leads)} {wrong}{random.choice(remarks)}"
        mark = random.choice(
            ["The answer is {}.", "#### {}", "\\boxed{{{}}}", "{}", "**Answer:** {}"]
        )
        replies.append((mark.format(text), str(number)))
    right = _score(replies)
    assert [r for r, is_right in zip(replies, right, strict=True) if is_right] == []
