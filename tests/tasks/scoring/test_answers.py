import json

import pytest

from dataenvgym.tasks.scoring import answers_equal, extract_final_answer


def test_the_reference_responses_are_scored_as_stated(cases):
    lines = (cases / "math_responses.jsonl").read_text().splitlines()
    for case in map(json.loads, lines):
        answer = extract_final_answer(case["response"])
        correct = answer is not None and answers_equal(case["gold"], answer)
        assert correct == case["correct"], case
    assert lines


ANSWERS = [
    # the last box has the answer
    (r"first $\boxed{3}$ then $\boxed{5}$", "5"), (r"\boxed{\{1,2\}}", r"\{1,2\}"),
    (r"\fbox{7}", "7"), (r"$\boxed 42$", "42"), (r"\boxed{\text{Answer: }\boxed{5}}", "5"),
    # ... unless it is not closed
    (r"\boxed{4", None), (r"\boxed{3} and \boxed{5", None), (r"\boxed{[0,\}", None),
    # the rest of a line after four hashes
    ("48 + 24 = 72\n#### 72", "72"), ("#### $18", "$18"), ("#### 1,000\n\nQ: next", "1,000"),
    ("#### Final answer: 42", "42"),
    # a sentence may state the answer
    ("Therefore, the final answer is 42. I hope it is correct.", "42"),
    ("The final answer is: $x^2$, since x is positive.", "x^2"), ("**Final Answer**: 5\n", "5"),
    ("The final answer is 5. I hope this answer is helpful.", "5"), ("The answer is 3.5.", "3.5"),
    ("The answer is 42 apples because she has 42.", "42 apples"),
    ("the answer is $5 in all", "$5 in all"), ("ANSWER = (B)", "(B)"),
    ("The answer is 1. No: the answer is 2.", "2"),
    # a response that is nothing but an answer needs no mark
    ("42", "42"), ("$5$", "$5$"), (r"\frac{1}{2}", r"\frac{1}{2}"), ("**44**", "44"),
    ("44.\n", "44"), (r"\(44\)", r"\(44\)"), ("44 apples.", "44 apples"), ("2xy", "2xy"),
    ("= 44", "= 44"), ("Therefore, 44", "Therefore, 44"),
    # without a marked answer, nothing is guessed in any other one
    ("", None), (" \n", None), ("It is 3 + 4 = 7", None), ("42?", None), ("Sure!", None),
    ("9" * 3_000, None), ("#### ", None), (r"\boxed{}", None), ("Answer:", None),
    # a box outranks a sentence, and a sentence about the final answer any other one
    (r"\boxed{1} is it. The answer is 2.", "1"),
    ("The final answer is 1. That answer is 2 less.", "1"),
    # tokens of chat templates are not part of the answer
    ("#### 4<|im_end|>", "4"), ("The answer is 4</s></s>", "4"),
    ("Answer: 4 <|end|><|endoftext|>", "4"), ("<s>[INST] 2+2? [/INST] The answer is 4 </s>", "4"),
    ("#### 4<\uff5cend\u2581of\u2581sentence\uff5c>", "4"),
    # a turn that the model invents for the user is not read
    ("#### 4<|im_end|>\n<|im_start|>user\nNext?<|im_end|>\n<|im_start|>assistant\n#### 9", "4"),
    # units, currency and separators stay with the answer
    (r"\boxed{\$1,250.00 \text{ dollars}}", r"\$1,250.00 \text{ dollars}"),
]  # fmt: skip


def test_the_answer_is_that_of_the_strongest_marker():
    assert [(response, extract_final_answer(response)) for response, _ in ANSWERS] == ANSWERS


@pytest.mark.parametrize("thought", [r"<think>\boxed{3}?</think>", "So #### 3\n</think>\n\n"])
def test_only_the_conclusion_counts(thought):
    assert extract_final_answer(f"{thought} The answer is 7.") == "7"
    assert extract_final_answer(f"{thought} Done.") is None
    assert extract_final_answer(r"<think>Is it \boxed{3}?") is None
