import re
from dataclasses import replace

import pytest

from dataenvgym.domains.code import pocket as code
from dataenvgym.domains.code.pocket import POCKET_CODE
from dataenvgym.domains.math import pocket as math
from dataenvgym.domains.social.pocket import POCKET_SOCIAL
from dataenvgym.domains.tool_use.pocket import POCKET_TOOLS
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import hash_files
from tools.pocket.build import build
from tools.pocket.curriculum import Curriculum
from tools.pocket.recipes import POCKET_SOCIAL_V1, POCKET_TOOLS_V1, POCKET_V2, STUDENTS

STRONG = POCKET_V2.stages[-1].strong
WEAK = tuple(name for name in POCKET_V2.family_of if name not in STRONG)


def shortened(student):
    return tuple(replace(s, steps=4, probe_from=2, weak_accuracy=0.3) for s in student.stages)


@pytest.mark.parametrize("student", STUDENTS.values(), ids=STUDENTS)
def test_half_of_the_skills_of_every_family_are_weak(student):
    strong = set(student.stages[-1].strong)
    assert strong < set(student.family_of)
    assert set(student.hard) < set(student.family_of)
    for family in student.families:
        assert len(set(family.phrasings) - strong) == len(family.phrasings) / 2


def test_the_curriculum_never_shows_operands_of_the_evaluation():
    curriculum = Curriculum(POCKET_V2, strong=STRONG)
    curriculum.adjust(dict.fromkeys(WEAK, 0.0))
    questions = [e.question for e in curriculum.draw(3000, derive_rng(0, "test"))]
    names = {POCKET_CODE.signature_in(q) for q in questions} - {None}
    assert {code.split_of(signature) for signature in names} == {"train"}
    numbers = [
        tuple(map(int, re.findall("[0-9]+", q)))
        for q in questions
        if not POCKET_CODE.signature_in(q)
    ]
    assert {math.split_of(operands) for operands in numbers} == {"train"}


@pytest.mark.parametrize(
    ("student", "family"), [(POCKET_TOOLS_V1, POCKET_TOOLS), (POCKET_SOCIAL_V1, POCKET_SOCIAL)]
)
def test_the_curriculum_of_a_family_never_shows_operands_of_the_evaluation(student, family):
    exercises = Curriculum(student, strong=student.stages[-1].strong).draw(
        500, derive_rng(0, "test")
    )
    operands = [family.operands_in(e.question) for e in exercises]
    assert {family.split_of(each) for each in operands} == {"train"}


def test_the_controller_shows_a_weak_skill_only_while_it_is_too_weak():
    curriculum = Curriculum(POCKET_V2, strong=STRONG, weak_accuracy=0.4)
    curriculum.adjust(dict.fromkeys(WEAK, 0.1))
    first = curriculum.weak_rates["odds"]
    curriculum.adjust(dict.fromkeys(WEAK, 0.1) | {"odds": 0.5})
    assert curriculum.weak_rates["odds"] == 0.0
    assert curriculum.weak_rates["flipped"] > first


@pytest.mark.slow
@pytest.mark.parametrize("student", STUDENTS.values(), ids=STUDENTS)
def test_the_same_seed_builds_the_same_student(student, tmp_path):
    for name in ("one", "two"):
        build(student, tmp_path / name / "student", stages=shortened(student), threads=1)
    assert hash_files(tmp_path / "one") == hash_files(tmp_path / "two")
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(tmp_path / "one" / "student").num_parameters() < 1e6
