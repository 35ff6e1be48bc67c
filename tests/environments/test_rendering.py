"""Teaching environments as text."""

import pytest
from gymnasium.error import ResetNeeded

from dataenvgym.agents import PocketEngine
from dataenvgym.environments import OpenEnded, SkillList, SkillTree
from tests.fakes import begun


def test_the_skills_are_a_table_of_before_and_now(task, student, records):
    environment = begun(SkillList(task, student, render_mode="ansi"))
    environment.step(records)
    lines = environment.render().splitlines()
    assert lines[0] == "pocket_math, iteration 1: score 0.350 (+0.100), 4 records"
    assert lines[2].split() == ["category", "skill", "n", "base", "now"]
    assert len(lines) == 3 + 20
    assert lines[-1].split()[:3] == ["selection", "smallest", "2"]
    assert max(map(len, lines)) <= 80


def test_an_environment_that_hides_the_skills_does_not_show_them_either(task, student):
    environment = begun(OpenEnded(task, student, render_mode="ansi"))
    text = environment.render()
    assert "score 0.250" in text
    assert "reversed" not in text


def test_a_skill_tree_shows_its_forest(task, student):
    environment = begun(SkillTree(task, student, PocketEngine(task), render_mode="ansi"))
    environment.step(environment.action_space.sample())
    lines = environment.render().splitlines()
    assert lines[2].split()[:3] == ["skill", "subskill", "allotted"]
    skills = [line.split()[0] for line in lines[3:] if not line.startswith(" ")]
    assert skills == list(environment.forest.skills)
    for tree in environment.forest.trees:
        move = tree.last_move and f"({tree.last_move} {tree.reward:+.3f})"
        assert any(line.startswith(tree.skill) and (move or "(no move") in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_only_an_episode_with_a_render_mode_is_rendered(task, student, recwarn):
    with pytest.raises(ResetNeeded, match="call reset"):
        SkillList(task, student, render_mode="ansi").render()
    silent = begun(SkillList(task, student))
    assert silent.render() is None
    assert 'without render_mode="ansi"' in str(recwarn[-1].message)
