"""What replies earn that do not look at the problem, in every task that needs no data."""

import pytest

from dataenvgym.domains.math.task import MathTask
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_task
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.runs.evaluation.floor import floors_of
from dataenvgym.storage import write_jsonl
from dataenvgym.students.predictors import ScriptedPredictor

TASKS = sorted(options_by_group()["task"])
POCKET = [name for name in TASKS if name.startswith("pocket_")]
WHOLE = ("calendar", "shop", "wallet", "social", "textworld_house", "smol_tools")
FREE = [  # of data
    *(*POCKET, *WHOLE, "textworld_shop", "reasoning_gym"),
    *("teach/skewed", "teach/traps"),
    *(name for name in TASKS if name.startswith("smol_") and name not in WHOLE),
]
SIZES = ["task.n_train=2", "task.n_validation=80", "task.n_test=2"]
NATURAL = {
    "PocketOrchestrateTask": 0.72,  # always to call the best model is a policy
    "PocketSocialTask": 0.42,  # so is to take every offer, or to ask for 5 where prices are 1 to 9
    "SocialTask": 0.42,
    "ReasoningGymTask": 0.2,  # yes or no, or a small number
    "PocketMathTask": 0.14,  # a digit
    "PocketKnowledgeTask": 0.12,  # each question names four values, of about fifty
}
"""The most that a constant reply may earn where it is a choice among few; elsewhere it is .05."""


def assert_low(task):
    (reply, empty), *others = floors_of(task, task.instances)
    assert (reply, empty.score, empty.accuracy) == ("", 0.0, 0.0)
    best = max((max(report.score, report.accuracy) for _, report in others), default=0.0)
    assert best <= NATURAL.get(type(task).__name__, 0.05), others[0]
    assert others == sorted(others, key=lambda floor: -floor[1].score)


@pytest.mark.parametrize("name", [*POCKET, *WHOLE])
def test_an_empty_reply_earns_nothing(name):
    task = build_task(compose([f"task={name}", *(() if name in WHOLE else SIZES)]))
    for silence in ("", "\n", "..."):
        tried = task.attempt(ScriptedPredictor(lambda _, silence=silence: silence))
        assert {(done.reward, done.error) for done in tried} == {(0.0, None)}


@pytest.mark.parametrize("name", ["math", "social"])
def test_a_constant_reply_earns_little_in_a_pocket_task(name):
    assert_low(build_task(compose([f"task=pocket_{name}", *SIZES])))


@pytest.mark.slow
@pytest.mark.parametrize("name", FREE)
def test_a_constant_reply_earns_little_in_any_task_that_needs_no_data(name):
    fewer = ["task.n_validation=160"] * (name == "pocket_code")
    assert_low(build_task(compose([f"task={name}", *fewer])))


def test_the_floor_of_a_choice_is_the_share_of_its_most_frequent_answer(tmp_path):
    answers = [*"AABACDAB", *"BACDAACA"]
    rows = [{"question": f"Question {n}?", "answer": f"#### {a}"} for n, a in enumerate(answers)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    task = MathTask({"validation": str(tmp_path / "rows.jsonl")})
    (_, empty), (reply, best), *_ = floors_of(task, task.instances)
    assert (empty.score, best.score) == (0.0, answers.count("A") / len(answers))
    assert "A" in reply
    assert floors_of(task, task.instances[5:6])[1][1].score == 1.0
