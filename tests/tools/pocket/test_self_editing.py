import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dataenvgym.domains.few_shot.augmentations import read_self_edit
from dataenvgym.domains.few_shot.pocket import POCKET_FEW_SHOT
from dataenvgym.domains.few_shot.pocket import SKILLS as RULES
from dataenvgym.domains.knowledge.pocket import NAMES, POCKET_KNOWLEDGE
from dataenvgym.domains.knowledge.pocket import SKILLS as FACTS
from dataenvgym.domains.orchestrate.pocket import PLACE
from dataenvgym.records.tool_formats import POCKET
from dataenvgym.storage import hash_files
from dataenvgym.students.pocket import student_path
from tools.pocket import self_edit_rows
from tools.pocket.recipes import STUDENTS
from tools.pocket.self_edit_rows import Person, called_row, few_shot_row, knowledge_row
from tools.pocket.self_editing import RECIPES, build
from tools.pocket.tokenizer import END

RNG = np.random.default_rng


@pytest.fixture
def person():
    return Person.drawn(RNG(0))


def wrong_facts(person, written):
    """Values in a text that are not the person's."""
    own = set(person.facts.values())
    words = {word.lower() for word in re.findall(r"\w+", written)}
    return {v for fact in FACTS.values() for v in fact.values if v in words} - own


def test_the_facts_of_rows_are_drawn_anew_so_that_none_is_learned():
    rng = RNG(0)
    people = [person for _ in range(4000) if (person := Person.drawn(rng)).name in NAMES]
    right = [p.facts[name] == FACTS[name].facts[p.name] for p in people for name in FACTS]
    assert len(people) > 80
    assert 0.15 < np.mean(right) < 0.35  # one of four


def test_edits_say_which_facts_they_give_and_are_of_all_qualities(person):
    rng = RNG(0)
    for _ in range(40):
        for written, given in (
            self_edit_rows.implications(person, rng, wrong=0),
            self_edit_rows.questions(person, rng, wrong=(0,)),
        ):
            brief = re.sub(r"\w+, \w+, \w+ or \w+", "", written)  # without the four answers
            assert not wrong_facts(person, brief)
            assert all(person.facts[fact] in written.lower() for fact in given)
    edits = [self_edit_rows.implications(person, rng) for _ in range(200)]
    assert {len(given) for _, given in edits} >= {0, 1, 2, 3, 4, 5}
    assert 0.2 < np.mean([bool(wrong_facts(person, written)) for written, _ in edits]) < 0.8


def test_puzzles_are_answered_by_any_rule_and_choices_are_mostly_valid():
    rng = RNG(0)
    rows = [few_shot_row(rng) for _ in range(600)]
    edits = [read_self_edit(answer) for _, answer in rows if answer.startswith("{")]
    failed = np.mean([bool(edit.failure) for edit in edits])
    assert 0.01 < failed < 0.2
    groups = Counter(len(edit.data_generation.groups) for edit in edits if not edit.failure)
    assert set(groups) == {0, 1, 2, 3, 4}
    asked = [
        (asked[len("<|user|>") :].split(END)[0], answer[: -len(END)]) for asked, answer in rows
    ]
    puzzles = [(POCKET_FEW_SHOT.read(q), a) for q, a in asked if POCKET_FEW_SHOT.read(q)]
    right = [POCKET_FEW_SHOT.holds(exercise, answer) for exercise, answer in puzzles]
    assert 0.05 < np.mean(right) < 0.25  # one of eight


def test_calls_are_valid_and_mostly_of_the_tier_that_is_dearest():
    rng = RNG(0)
    rows = [called_row(rng) for _ in range(300)]
    for asked, answer in rows:
        (call,) = POCKET.parse(answer.removesuffix(END)).tool_calls
        offered = asked.partition(END)[0].removeprefix("<|system|>You are good at using tools. ")
        assert call.name in offered.split()
        assert asked.endswith(f"{END}<|assistant|>")
        first = [(asked, answer) for asked, answer in rows if "Document" not in asked]
    about_places = [a for q, a in first if "search answer" in q and not re.search(r"\d", q)]
    sums = [a for q, a in rows if " add " in q or " total " in q]
    assert np.mean(["search-3" in a for a in about_places]) > 0.6
    assert 0.35 < np.mean(["answer-1" in a for a in sums]) < 0.7
    assert 0.2 < np.mean(["answer-4" in a for a in sums]) < 0.55


@pytest.mark.parametrize("name", [*RECIPES, *STUDENTS])
def test_the_shipped_students_are_small_and_whole(name):
    files = {p.name: p.stat().st_size for p in student_path(name).iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"} <= {*files}
    assert sum(files.values()) < (2_500_000 if name in RECIPES else 5_000_000)
    readme = (student_path(name) / "README.md").read_text()
    assert name in STUDENTS or f"tools.pocket.build --student {name} " in readme


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "pocket-knowledge-v1",
            [q.format(x=x, o="a") for f in FACTS.values() for q in f.questions for x in NAMES]
            + [knowledge_row(RNG(i))[1] for i in range(50)]
            + [POCKET_KNOWLEDGE.draw("pets", "test", RNG(0)).question],
        ),
        ("pocket-few-shot-v1", [few_shot_row(RNG(i))[i % 2] for i in range(50)] + [*RULES]),
        (
            "pocket-orchestrate-v1",
            [re.sub(f" {PLACE}", "", called_row(RNG(i))[i % 2]) for i in range(50)],
        ),
    ],
)
def test_what_a_student_reads_and_writes_is_whole_words_and_single_signs(name, texts):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(student_path(name))
    for text in texts:
        expected = re.findall(r"<\|\w+\|>|[a-zA-Z]+|[0-9]|#+|[^\s\w]|_|\n\s*", text)
        assert len(tokenizer.tokenize(text)) == len(expected), text
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_the_same_seed_builds_the_same_student(name, tmp_path):
    short = replace(RECIPES[name], steps=3, rows=6, loops=min(RECIPES[name].loops, 2), people=2)
    for seed, folder in ((0, "one"), (0, "two"), (1, "three")):
        build(short, tmp_path / folder / "student", seed=seed)
    assert hash_files(tmp_path / "one") == hash_files(tmp_path / "two")
    assert hash_files(tmp_path / "one") != hash_files(tmp_path / "three")
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tmp_path / "one" / "student")
    assert model.num_parameters() < 0.5e6
    assert not any("base" in key for key in model.state_dict())
