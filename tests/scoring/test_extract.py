import json
import time

import pytest

from dataenvgym.scoring import answers_equal, extract_final_answer


def test_the_reference_responses_are_scored_as_stated(cases):
    lines = (cases / "math_responses.jsonl").read_text().splitlines()
    for case in map(json.loads, lines):
        answer = extract_final_answer(case["response"])
        correct = answer is not None and answers_equal(case["gold"], answer)
        assert correct == case["correct"], case
    assert lines


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"first $\boxed{3}$ then $\boxed{5}$", "5"),
        (r"so $\boxed{\frac{1}{\sqrt{2}}}$", r"\frac{1}{\sqrt{2}}"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{\left\{ x : x > 0 \right\}}", r"\left\{ x : x > 0 \right\}"),
        (r"\boxed{ 4 }", "4"),
        (r"\fbox{7}", "7"),
        (r"$\boxed 42$", "42"),
        (r"\boxed{\text{Answer: }\boxed{5}}", "5"),
    ],
)
def test_the_last_box_has_the_answer(response, answer):
    assert extract_final_answer(response) == answer


@pytest.mark.parametrize(
    "response", [r"\boxed{4", r"\boxed{3} and \boxed{5", r"\boxed{\frac{1}{2}", r"\boxed{[0,\}"]
)
def test_an_unclosed_last_box_is_not_an_answer(response):
    assert extract_final_answer(response) is None


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("48 + 24 = 72\n#### 72", "72"), ("#### $18", "$18"), ("#### 1,000\n\nQ: next", "1,000"),
        ("#### 1\n#### 2", "2"), ("#### 4 3 1", "4 3 1"), ("#### Final answer: 42", "42"),
    ],
)  # fmt: skip
def test_the_rest_of_a_line_after_four_hashes_is_the_answer(response, answer):
    assert extract_final_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Therefore, the final answer is 42. I hope it is correct.", "42"),
        ("The final answer is: $x^2$, since x is positive.", "x^2"),
        ("**Final Answer**: 5\n", "5"),
        ("The final answer is 5. I hope this answer is helpful.", "5"),
        ("The answer is 3.5.", "3.5"),
        ("The answer is 42 apples because she has 42.", "42 apples"),
        ("The answer to the question is **12**.", "12"),
        ("The answer is **12** apples.", "12 apples"),
        ("**Answer:** there are **12** apples", "there are 12 apples"),
        ("The answer is 12 __apples__.", "12 apples"), ("The answer is 2**3.", "2**3"),
        ("Answer:\n\n17\nmore", "17"), (r"Answer: \(\frac{1}{2}\).", r"\frac{1}{2}"),
        ("the answer is $5 in all", "$5 in all"), ("ANSWER = (B)", "(B)"),
        ("The answer is 1. No: the answer is 2.", "2"),
    ],
)  # fmt: skip
def test_a_sentence_may_state_the_answer(response, answer):
    assert extract_final_answer(response) == answer


@pytest.mark.parametrize(
    "response",
    ["", " \n", "42", "$5$", r"\frac{1}{2}", "It is 3 + 4 = 7", "#### ", r"\boxed{}", "Answer:"],
)
def test_without_a_marked_answer_nothing_is_guessed(response):
    assert extract_final_answer(response) is None


def test_a_box_outranks_a_sentence_and_a_sentence_about_the_final_answer_any_other():
    assert extract_final_answer(r"\boxed{1} is it. The answer is 2.") == "1"
    assert extract_final_answer("The final answer is 1. That answer is 2 less.") == "1"


@pytest.mark.parametrize(
    "response",
    [
        "#### 4<|im_end|>", "The answer is 4</s></s>",
        "<|im_start|>assistant\nThe answer is 4<|im_end|>", "#### 4<|eot_id|>",
        "Answer: 4 <|end|><|endoftext|>", "#### 4<end_of_turn>",
        "#### 4<\N{FULLWIDTH VERTICAL LINE}end\u2581of\u2581sentence\N{FULLWIDTH VERTICAL LINE}>",
        "<s>[INST] 2+2? [/INST] The answer is 4 </s>",
    ],
)  # fmt: skip
def test_tokens_of_chat_templates_are_not_part_of_the_answer(response):
    assert extract_final_answer(response) == "4"


def test_a_turn_that_the_model_invents_for_the_user_is_not_read():
    response = "#### 4<|im_end|>\n<|im_start|>user\nNext?<|im_end|>\n<|im_start|>assistant\n#### 9"
    assert extract_final_answer(response) == "4"


@pytest.mark.parametrize("thought", [r"<think>\boxed{3}?</think>", "So #### 3\n</think>\n\n"])
def test_only_the_conclusion_counts(thought):
    assert extract_final_answer(f"{thought} The answer is 7.") == "7"
    assert extract_final_answer(f"{thought} Done.") is None
    assert extract_final_answer(r"<think>Is it \boxed{3}?") is None


def test_units_currency_and_separators_stay_with_the_answer():
    assert extract_final_answer(r"\boxed{\$1,250.00 \text{ dollars}}") == (
        r"\$1,250.00 \text{ dollars}"
    )


@pytest.mark.parametrize(
    "piece",
    [r"\boxed{", "{", "<|user|>", "answer ", "answer is ", "final ", "#### ", "<|", " ", "\x00"],
)
def test_a_response_of_200_kilobytes_takes_no_time(piece):
    response = piece * (200_000 // len(piece))
    start = time.process_time()
    extract_final_answer(response)
    assert time.process_time() - start < 2
