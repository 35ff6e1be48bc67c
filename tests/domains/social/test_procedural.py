"""Procedural scenes: skills, operands, and the student's pretraining."""

from collections import Counter

import numpy as np
import pytest

from dataenvgym.domains.social.pocket import POCKET_SOCIAL
from dataenvgym.domains.social.procedural import MOVES
from dataenvgym.domains.social.procedural_skills import SKILLS
from dataenvgym.domains.social.scores import rule_scores

RNG = np.random.default_rng


def split_of(question):
    return POCKET_SOCIAL.split_of(POCKET_SOCIAL.operands_in(question))


def goals(skill, plan, n=20):
    problems = [POCKET_SOCIAL.pose(skill, "train", RNG(i)) for i in range(n)]
    return [rule_scores(p.followed(plan), p.seat)["goal"] for p in problems]


def test_there_are_sixteen_skills_in_four_categories_with_short_phrasings():
    assert len(SKILLS) == 16
    assert [*Counter(s.category for s in SKILLS.values()).values()] == [4, 4, 4, 4]
    for skill in SKILLS.values():
        assert len({*skill.phrasings}) == 3
        assert set(skill.strategies) | set(skill.habit) <= set(MOVES)
        question = POCKET_SOCIAL.pose(skill.name, "train", RNG(0)).worded
        for phrasing in skill.phrasings:
            words = question(phrasing).translate(str.maketrans(".,:", "   ")).split()
            assert len(words) <= 12, phrasing  # no run of 13 that two problems could share


@pytest.mark.parametrize("skill", SKILLS)
def test_the_gold_strategies_earn_ten_and_others_less(skill):
    found = SKILLS[skill]
    assert set(goals(skill, found.gold)) == {10.0}
    worse = [np.mean(goals(skill, (other,))) for other in found.others if other not in found.gold]
    assert min(worse) <= 7.0
    if found.habit:
        assert np.mean(goals(skill, found.habit)) <= 6.0


def test_actions_of_others_are_not_in_the_question_and_decide_the_reply():
    weighed = [POCKET_SOCIAL.draw("weigh_offer", "train", RNG(i)).output for i in range(20)]
    assert set(weighed) == {"Deal.", "[leave] Goodbye."}
    found = (POCKET_SOCIAL.pose("find_need", "train", RNG(i)) for i in range(20))
    assert {problem.output.split()[1] == problem.operands["a"] for problem in found} == {
        True,
        False,
    }


def test_pretraining_shows_gold_replies_habits_and_strategies_followed_and_written():
    def first_lines(skill, *, symbols):
        drawn = [POCKET_SOCIAL.practice(skill, RNG(i), symbols=symbols) for i in range(200)]
        assert {split_of(e.question) for e in drawn} == {"train"}
        return [POCKET_SOCIAL.conversation(e)[1].content for e in drawn]

    written = Counter(first_lines("own_up", symbols=False))
    assert sum(n for text, n in written.items() if text.startswith("I broke the")) > 100
    assert {t for t in written if t.startswith("Strategy: ")} == {
        f"Strategy: {words}" for words in SKILLS["own_up"].strategies
    }
    assert "That is private." in written  # as it was advised
    drawn = [POCKET_SOCIAL.practice("give_in", RNG(i), symbols=True) for i in range(200)]
    plain = [e for e in drawn if e.phrasing and "Strategy" not in e.steps[0].content]
    assert plain
    assert all(e.output.startswith("I say") for e in plain)  # the habit
