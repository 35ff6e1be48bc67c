"""Evaluated problems in other characters: the same to a reader, and dropped as what they are."""

import json
import random

import pytest

from dataenvgym.environments import OpenEnded
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_task
from dataenvgym.students.predictors import ScriptedPredictor

TASKS = ("math", "code", "tools", "social", "knowledge", "few_shot", "orchestrate", "textworld")


def look_alike(plain, others):
    return lambda text: text.translate(str.maketrans(plain, others))


def each(change):
    return lambda text: "".join(map(change, text))


def bold(c):
    if c.isdigit():
        return chr(0x1D7CE + ord(c) - ord("0"))
    start = 0x1D400 if c.isupper() else 0x1D41A
    return chr(start + ord(c.lower()) - ord("a")) if c.isascii() and c.isalpha() else c


CHARACTERS = {
    "cyrillic": look_alike(
        "aceijopsxyhdkmtABEKMHOPCTX",
        "\u0430\u0441\u0435\u0456\u0458\u043e\u0440\u0455\u0445\u0443\u04bb\u0501\u043a\u043c\u0442"
        "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425",
    ),
    "greek": look_alike(
        "aikoptvABEHIKMNOPTXYZ",
        "\u03b1\u03b9\u03ba\u03bf\u03c1\u03c4\u03bd"
        "\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5\u0396",
    ),
    "small capitals": look_alike("abcdei", "\u1d00\u0299\u1d04\u1d05\u1d07\u026a"),
    "full width": each(lambda c: chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c),
    "bold": each(bold),
    "circled": look_alike("abcnty123", "\u24d0\u24d1\u24d2\u24dd\u24e3\u24e8\u2460\u2461\u2462"),
    "superscript": look_alike(
        "0123456789", "\u2070\xb9\xb2\xb3\u2074\u2075\u2076\u2077\u2078\u2079"
    ),
    "arabic": look_alike("0123456789", "".join(map(chr, range(0x660, 0x66A)))),
    "persian": look_alike("0123456789", "".join(map(chr, range(0x6F0, 0x6FA)))),
    "devanagari": look_alike("0123456789", "".join(map(chr, range(0x966, 0x970)))),
    **{
        name: each(lambda c, mark=mark: c + mark if c.isalnum() else c)
        for name, mark in {
            "acute": "\u0301",
            "struck": "\u0336",
            "circle": "\u20dd",
            "harakat": "\u064e",
            "soft hyphen": "\xad",
            "zero width": "\u200b",
            "joiner": "\u200d",
            "word joiner": "\u2060",
            "mark": "\ufeff",
            "right to left": "\u202e",
            "variation": "\ufe0f",
            "grapheme joiner": "\u034f",
            "filler": "\u3164",
            "tag": "\U000e0041",
            "control": "\x08",
        }.items()
    },
}
ESCAPED = {
    "in JSON": lambda text: json.dumps({"problem": text}),
    "in JSON twice": lambda text: json.dumps({"problems": [json.dumps([text])]}, indent=1),
    "all escaped": each(lambda c: f"\\u{ord(c):04x}"),
    "HTML": each(lambda c: f"&#{ord(c)};"),
}


def mixed(text, seed):
    """Each word in another disguise."""
    rng = random.Random(seed)
    changes = list(CHARACTERS.values())
    return "".join(
        part if part.isspace() else rng.choice(changes)(part)
        for line in text.splitlines(keepends=True)
        for part in line.replace(" ", "\0 \0").replace("\n", "\0\n").split("\0")
    )


def dropped(name, disguised):
    """How many of the records about these texts of each evaluated problem are dropped."""
    options = ["task.n_train=2", "task.n_validation=3", "task.n_test=2"]
    options += ["task.sandbox=unsafe_local"] * (name == "code")
    task = build_task(compose([f"task=pocket_{name}", *options]))
    evaluated = [*task.instances, *task.on("test").instances]
    texts = [text for i in evaluated for text in disguised(i.instruction)]
    environment = OpenEnded(task, ScriptedPredictor(lambda _: "?"))
    environment.reset(seed=0)
    honest = [r for i in task.on("train").instances if (r := task.domain.gold_record(i))]
    leaks = [{"instruction": f"{text}", "output": f"{n}"} for n, text in enumerate(texts)]
    *_, info = environment.step([*honest, *leaks])
    return info["n_dropped"], len(leaks), info["n_records"], len(honest)


@pytest.mark.parametrize("name", TASKS)
def test_an_evaluated_problem_in_other_characters_is_dropped_and_other_problems_are_not(name):
    def disguised(text):
        yield from (change(text) for change in (CHARACTERS | ESCAPED).values())
        yield from (mixed(text, seed) for seed in range(10))

    n_dropped, n_leaks, n_accepted, n_honest = dropped(name, disguised)
    assert (n_dropped, n_accepted) == (n_leaks, n_honest)


def test_the_half_of_a_long_problem_that_goes_with_its_answer_is_dropped():
    """In domains whose problems share runs of words, where 13 words identify none."""
    n_dropped, n_leaks, n_accepted, n_honest = dropped(
        "few_shot", lambda text: [text[len(text) // 2 :]]
    )
    assert (n_dropped, n_accepted) == (n_leaks, n_honest)


def test_demonstrations_of_a_problem_without_its_last_input_are_accepted():
    n_dropped, *_ = dropped("few_shot", lambda text: [text.rsplit("\n\n", 1)[0]])
    assert not n_dropped
