"""The benchmark of social scenes, on fewer of them."""

import pytest

from benchmarks.social_scenes import BareTurns, measure_at_once, problems, scripted
from dataenvgym.domains.social import SocialEnvironment


@pytest.mark.slow
def test_all_scenes_at_once_end_with_both_seats_asked_over_http():
    ours, bare = measure_at_once(20, repeats=1)
    assert ours["requests"] == bare["requests"] == 400
    assert 1 < ours["most open requests"] <= 20
    assert (bare["time to bare"], ours["seconds"] > 0) == (1.0, True)


def test_scripted_scenes_end_and_each_has_an_id_of_its_own():
    scenes = problems(10, "fair")
    assert len({scene.id for scene in scenes}) == 10
    assert scripted(SocialEnvironment, scenes) > 0
    assert scripted(BareTurns, scenes) > 0
