from __future__ import annotations

import re

import pytest

from dataenvgym.pocket import student_path
from dataenvgym.pocket.build import Stage, build
from dataenvgym.pocket.curriculum import EARLY_SKILLS, STRONG_SKILLS, Curriculum
from dataenvgym.pocket.families import FAMILY_OF
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import hash_files
from dataenvgym.tasks.code import pocket as code
from dataenvgym.tasks.code.pocket import signature_in
from dataenvgym.tasks.math import pocket as math

SHORT = (
    Stage(
        "learn", ("rows",), steps=8, peak=2e-3, strong=EARLY_SKILLS, weak_accuracy=0.3, probe_from=4
    ),
    Stage(
        "settle",
        ("settle",),
        steps=4,
        peak=1e-3,
        strong=STRONG_SKILLS,
        weak_accuracy=0.3,
        probe_from=2,
    ),
)

WEAK_SKILLS = tuple(name for name in FAMILY_OF if name not in STRONG_SKILLS)


def test_half_of_the_skills_of_every_family_are_weak():
    assert set(STRONG_SKILLS) < set(FAMILY_OF)
    for family in set(FAMILY_OF.values()):
        assert len(set(family.phrasings) & set(WEAK_SKILLS)) == len(family.phrasings) / 2


def test_the_curriculum_never_shows_what_evaluation_is_about():
    curriculum = Curriculum()
    curriculum.adjust(dict.fromkeys(WEAK_SKILLS, 0.0))
    questions = [e.question for e in curriculum.draw(3000, derive_rng(0, "test"))]
    names = {signature_in(q) for q in questions} - {None}
    assert {code.split_of(signature) for signature in names} == {"train"}
    numbers = [tuple(map(int, re.findall("[0-9]+", q))) for q in questions if not signature_in(q)]
    assert {math.split_of(operands) for operands in numbers} == {"train"}


def test_the_controller_shows_a_weak_skill_only_while_it_is_too_weak():
    curriculum = Curriculum(weak_accuracy=0.4)
    curriculum.adjust(dict.fromkeys(WEAK_SKILLS, 0.1))
    first = curriculum.weak_rates["odds"]
    curriculum.adjust(dict.fromkeys(WEAK_SKILLS, 0.1) | {"odds": 0.5})
    assert curriculum.weak_rates["odds"] == 0.0
    assert curriculum.weak_rates["flipped"] > first


def test_the_shipped_student_is_small_and_whole():
    names = {p.name for p in student_path().iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"} <= names
    assert sum(p.stat().st_size for p in student_path().iterdir()) < 5_000_000


@pytest.mark.slow
def test_the_same_seed_builds_the_same_student(tmp_path):
    for name in ("one", "two"):
        build(tmp_path / name / "student", stages=SHORT, threads=1)
    assert hash_files(tmp_path / "one") == hash_files(tmp_path / "two")
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(tmp_path / "one" / "student").num_parameters() < 1e6
