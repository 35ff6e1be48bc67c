import json
from concurrent.futures import Future

import gymnasium
import pytest

from dataenvgym.domains.orchestrate.calls import account
from dataenvgym.domains.orchestrate.policies import FixedOrchestrator
from dataenvgym.domains.orchestrate.task import OrchestrateTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.interfaces import Reply
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.record_conversion import record_of
from tests.domains.orchestrate.orchestrations import call

ROWS = [
    {"id": "q1", "question": "Who won?", "answer": "Denver", "category": "sports"},
    {"id": "q2", "question": "6 x 7?", "answer": "42", "category": "math",
     "preference": {"text": "Be quick.", "weights": {"latency": 1}}},
    {"id": "q3", "question": "See the picture.", "answer": "b", "image": "data:..."},
]  # fmt: skip
SURE = {"answer-4": {"accuracy": 1.0}, "answer-1": {"accuracy": 1.0}}


@pytest.fixture
def make(tmp_path):
    def make(rows=ROWS, **options):
        path = tmp_path / "questions.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        places = {"validation": str(path)}
        return OrchestrateTask(places, **{"tiers": SURE, **options})

    return make


class Counting:
    """A student with `submit` that always calls a tier, and says what it took."""

    def submit(self, conversation, sampling):
        future = Future()
        future.set_result(Reply(text=call("answer-4"), prompt_tokens=1_000, completion_tokens=500))
        return future

    def predict(self, conversations, sampling):
        return [self.submit(c, sampling).result() for c in conversations]


def test_questions_of_a_file_are_answered_and_those_with_images_left_out(make):
    task = make()
    assert [(i.id, i.skill, i.answer) for i in task.instances] == [
        ("q1", "sports", "Denver"),
        ("q2", "math", "42"),
    ]
    done = task.evaluate(FixedOrchestrator(["answer-4"]))
    assert [d.was_correct for d in done] == [True, True]
    report = task.generate_performance_report(done)
    assert report.accuracy == 1
    assert report.scores["calls_answer-4"] == 1
    assert report.scores["seconds"] == 11
    assert 0 < report.scores["cents"] < 1
    assert report.scores["preference"] == pytest.approx(1 - 11 / 500)  # of the one that has it
    assert {s.skill: "preference" in s.scores for s in report.skills} == {
        "math": True,
        "sports": False,
    }


def test_a_preference_of_the_task_is_that_of_questions_without_their_own(make):
    task = make(preference={"accuracy": 1, "answer-1": -1})
    texts = {i.id: i.data["preference"]["text"] for i in task.instances}
    assert texts == {"q1": "", "q2": "Be quick."}
    done = task.evaluate(FixedOrchestrator(["answer-1"]))
    report = task.generate_performance_report(done)
    assert report.scores["preference"] == pytest.approx((0.5 + (1 - 96 / 500)) / 2)


@pytest.mark.parametrize("has_submit", [True, False])
def test_what_the_student_took_is_counted_with_its_own_price(make, has_submit):
    student = Counting() if has_submit else ScriptedPredictor(lambda _: "")
    student.predict = Counting().predict
    task = make(policy_price={"prompt": 0.2, "completion": 0.2})
    done = task.attempt(student, samples=2)
    assert len(done) == 4
    for each in done:
        assert each.scores["policy_prompt_tokens"] == 1_000
        assert each.scores["policy_cents"] == pytest.approx(0.03)
        spent = account(each)
        assert spent.policy.cost == pytest.approx(0.0003)
        assert spent.cost == pytest.approx(spent.tools.cost + 0.0003)
    (done, _) = make().attempt(student)  # without a price, it is unknown and not zero
    assert "policy_cents" not in done.scores
    assert account(done).policy.cost is None
    prompt = task.domain.prompt(done.instance)
    assert record_of(done, prompt).conversation[:-1] == prompt


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ({"question": "?", "answer": 7}, ":1, answer"),
        ({"question": "  ", "answer": "a"}, ":1, question"),
        (ROWS[0] | {"preference": {"serch": 1}}, ":1: .*'serch'"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named(make, row, match):
    with pytest.raises(InvalidInstanceError, match=match):
        _ = make([row]).instances


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"tiers": None}, "no tier answers"),
        ({"preference": {"serch": 1}}, r"task\.preference: the preference weighs 'serch'"),
        ({"policy_price": {"prompt": -1, "completion": 0}}, r"price is .*-1"),
        ({"endpoints": "nowhere.json"}, r"nowhere\.json is missing"),
        ({"retriever": "nowhere"}, "retriever is 'nowhere'"),
        ({"max_turns": 51}, "max_turns is 51"),
    ],
)
def test_an_impossible_option_is_named_before_anything_runs(make, options, match):
    with pytest.raises((ConfigurationError, InvalidInstanceError), match=match):
        make(**options)


def test_tiers_and_searches_come_from_a_file_of_endpoints(make, tmp_path):
    path = tmp_path / "model_config.json"
    place = [{"ip_addr": "127.0.0.1", "port": 9}]
    path.write_text(json.dumps({"Qwen/Qwen3-32B": place, "retrieval": place}))
    task = make(tiers=None, endpoints=path)
    assert sorted(task.others) == ["answer-4", "search-3"]
    (url,) = task.domain.make_environment().retriever.base_urls
    assert url == "http://127.0.0.1:9"
    task.close()


def test_the_registered_environment_is_played_and_shows_the_whole_conversation_at_the_end():
    environment = gymnasium.make("dataenvgym/Orchestrate-v0")
    try:
        environment.reset(seed=3)
        shown, _, done, _, _ = environment.step(call("search-3"))
        assert (len(shown), done) == (2, False)
        shown, reward, done, _, info = environment.step(call("answer-1"))
        assert (len(shown), done) == (6, True)
        assert reward == info["was_correct"]
    finally:
        environment.close()
