import gymnasium
import pytest

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.domains.few_shot.environment import AGAIN, FewShotEnvironment
from dataenvgym.domains.few_shot.problem import text_of
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from tests.domains.few_shot.puzzles import instance, pair, problem

ONE = problem()
OUTPUT = text_of(tuple(map(tuple, pair(ONE.input)["output"])))


def of(answer=OUTPUT, data=None):
    return instance(ONE.text, answer, data=ONE.model_dump(mode="json") if data is None else data)


def played(*replies, **options):
    environment = FewShotEnvironment([of()], **options)
    environment.reset(seed=0)
    return [environment.step(reply) for reply in replies]


def test_the_exact_output_earns_the_reward_at_the_second_attempt_too():
    ((conversation, *ended, info),) = played(f"So:\n{OUTPUT}")
    assert (conversation[0].content, ended) == (ONE.text, [1.0, True, False])
    assert info["scores"] == {"cells": 1.0, "first_attempt": 1.0}
    first, second = played("1 2", OUTPUT)
    assert (first[1], first[2]) == (0.0, False)
    assert first[0][-1].content == AGAIN
    assert (second[1], second[2], second[4]["was_correct"]) == (1.0, True, 1.0)
    assert second[4]["scores"]["first_attempt"] == 0.0


def test_max_turns_is_the_number_of_attempts():
    ((*_, done, _, info),) = played("1 2", max_turns=1)
    assert done
    assert not info["was_correct"]
    assert [step[2] for step in played("1", "2", OUTPUT, max_turns=3)] == [False, False, True]
    with pytest.raises(ConfigurationError, match="max_turns is 0"):
        FewShotEnvironment(max_turns=0)


def test_a_malformed_grid_is_a_wrong_attempt_with_a_reason():
    first, second = played("no idea", "1 2\n3")
    assert first[4]["note"] == "scoring: there is no grid, expected rows of digits"
    assert "row 2 has 1 cells" in second[4]["note"]
    assert (second[1], second[2]) == (0.0, True)


def test_a_grid_of_the_right_size_has_a_share_of_right_cells():
    wrong = OUTPUT[:-1] + "0"
    ((*_, info), _) = played(wrong, "1")
    assert info["scores"] == {"cells": pytest.approx(11 / 12), "first_attempt": 0.0}
    assert "note" not in info


@pytest.mark.parametrize(
    ("answer", "data", "match"),
    [
        (None, None, "the answer is None, expected a grid"),
        ("42 is it", None, "expected a grid"),
        (OUTPUT, {}, "demonstrations"),
        (OUTPUT, {"demonstrations": [], "input": [[1]]}, "demonstrations"),
    ],
)
def test_a_problem_that_cannot_be_scored_is_refused(answer, data, match):
    with pytest.raises(InvalidInstanceError, match=match):
        FewShotEnvironment([of(answer, data)]).reset(seed=0)


def test_bare_gymnasium_make_has_a_problem():
    environment = gymnasium.make("dataenvgym/FewShot-v0")
    conversation, _ = environment.reset(seed=0)
    assert conversation[0].content.count("Input:\n") == 3
    assert environment.step(environment.unwrapped.instances[0].answer)[4]["instance_id"]
