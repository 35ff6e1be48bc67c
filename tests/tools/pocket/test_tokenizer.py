import re

import numpy as np
import pytest

from dataenvgym.records.tool_formats import POCKET
from dataenvgym.students.pocket import student_path
from tools.pocket.recipes import STUDENTS


@pytest.fixture(scope="module", params=STUDENTS)
def student(request):
    return STUDENTS[request.param]


@pytest.fixture(scope="module")
def tokenizer(student):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(student_path(student.name))


@pytest.mark.parametrize(
    "text",
    [
        "Put 3 1 4 in falling order.",
        " two  spaces\n\nand\tlines ",
        "ünï 世界 🎉 \u202e \x00",
        "<0x41> ▁x Ġ <b>",
        "12345 1.5 -3",
        "",
    ],
)
def test_any_text_round_trips(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_a_pocket_exercise_is_whole_words_and_single_signs(student, tokenizer):
    rng = np.random.default_rng(0)
    for skill, family in student.family_of.items():
        for phrasing in family.phrasings[skill]:
            exercise = family.draw(skill, "train", rng, phrasing=phrasing)
            for text in (m.content for m in POCKET.flatten(family.conversation(exercise))):
                expected = re.findall(r"[a-zA-Z]+|#+|[0-9]|[^\s\w]|\n\s+", text)
                assert len(tokenizer.tokenize(text)) == len(expected), text


def test_turns_tokenized_apart_are_the_tokens_of_the_whole(tokenizer):
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "max 3 1 ="},
        {"role": "assistant", "content": "#### 3"},
        {"role": "user", "content": "again"},
    ]
    whole = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    parts = ["<|system|>be brief<|end|>", "<|user|>max 3 1 =<|end|><|assistant|>",
             "#### 3<|end|>", "<|user|>again<|end|><|assistant|>"]  # fmt: skip
    assert whole == "".join(parts)
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False)  # noqa: E731
    assert encode(whole) == [token for part in parts for token in encode(part)]
