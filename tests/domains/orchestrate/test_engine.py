import numpy as np
import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.orchestrate.engine import OrchestrateTriesEngine
from dataenvgym.domains.orchestrate.pocket import PocketOrchestrateTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records.plans import Assignment
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.orchestrate.orchestrations import SURE, Requests, call, domain, played, request


class Drawn:
    """A student that says one of these texts, by the seed."""

    def __init__(self, *said):
        self.said = said

    def predict(self, conversations, sampling):
        one = ScriptedPredictor(lambda _: self.said[sampling.seed % len(self.said)])
        return one.predict(conversations, sampling)


def learned(engine, *tries):
    return engine.learn_all([tries])[0]


def engine(**options):
    return OrchestrateTriesEngine(Requests(domain()), samples=4, **options)


@pytest.fixture
def tries():
    """A try that is right at once, one that searched first, a wrong one, and an invalid one."""
    weights = {"accuracy": 1, "cost": 0.5, "search": -0.25}
    instance = request(preference={"weights": weights})
    wrong = domain(SURE | {"answer-4": {"accuracy": 0.0}})
    return [
        played(domain(), call("answer-4"), instance=instance)[0],
        played(domain(), call("search-3"), call("answer-4"), instance=instance)[0],
        played(wrong, call("answer-4"), instance=instance)[0],
        played(domain(), "words", call("answer-4"), instance=instance)[0],
    ]


def test_each_turn_is_a_record_with_its_own_prompt_and_the_advantage_of_its_try(tries):
    the_engine = engine()
    records = learned(the_engine, *tries)
    assert [record.weights for record in records] == [
        (pytest.approx(0.5),),
        (pytest.approx(0.5),),
        (pytest.approx(0.5),),
        (pytest.approx(-1.5),),
    ]
    prompts = [record.conversation[:-1] for record in records]
    assert prompts[:3] == [prompt for done in tries[:2] for prompt, _ in domain().turns(done)]
    assert records[2].conversation[-1].tool_calls[0].arguments == {"model": "answer-4"}


def test_a_try_with_an_invalid_call_counts_in_its_group_and_is_not_learned(tries):
    assert len(learned(engine(), tries[0], tries[2], tries[3])) == 2
    assert learned(engine(), tries[0], tries[2], tries[3])[0].weights == (
        pytest.approx(1 / 3**0.5),
    )


def test_failed_tries_do_not_count_and_small_or_flat_groups_are_left_out(tries):
    failed = tries[2].model_copy(update={"error": "answer-4: down", "scores": {}})
    assert learned(engine(), tries[0], tries[1], failed) == []
    assert learned(engine(), tries[0], tries[0], tries[1]) == []
    assert learned(engine(), tries[0], tries[0], tries[2]) != []


def test_rewards_by_efficiency_and_preference_tell_right_tries_apart(tries):
    for reward in ("efficiency", "preference"):
        values = engine(reward=reward).rewards_of(tries[:3])
        assert values[0] > values[1] > values[2] == 0
    assert engine().rewards_of(tries[:3]) == [1, 1, 0]


def test_it_writes_records_through_the_loop_of_scored_tries_and_counts_invalid_calls(caplog):
    task = PocketOrchestrateTask(n_train=30, n_validation=6, n_test=6)
    the_engine = OrchestrateTriesEngine(task, samples=8, reward="efficiency")
    student = Drawn(call("answer-1"), call("answer-4"), "words")
    rng = np.random.default_rng(0)
    records = the_engine.generate([Assignment(16, skill="product")], student, rng)
    (told,) = [text for text in caplog.messages if "have an invalid call" in text]
    assert int(told.split()[1]) > 1
    dear = [r.weights[0] for r in records if "answer-1" in str(r.messages[-1].tool_calls)]
    cheap = [r.weights[0] for r in records if "answer-4" in str(r.messages[-1].tool_calls)]
    assert len(records) == 16
    assert sum(dear) > 0 > sum(cheap)
    assert max(map(abs, dear + cheap)) <= 3


def test_fewer_problems_are_played_at_once_if_their_tries_have_several_turns():
    task = PocketOrchestrateTask(n_train=60, n_validation=6, n_test=6)
    sizes = []

    class Counted(Drawn):
        def predict(self, conversations, sampling):
            sizes.append(len(conversations))
            return super().predict(conversations, sampling)

    for turns, n_problems in ((1, 4), (2, 2)):
        sizes.clear()
        the_engine = OrchestrateTriesEngine(task, samples=4, turns=turns)
        student, rng = Counted(call("answer-1"), call("answer-4")), np.random.default_rng(0)
        the_engine.generate([Assignment(16, skill="product")], student, rng)
        assert sizes[0] == n_problems


def test_other_tasks_are_refused_with_a_way_out():
    with pytest.raises(ConfigurationError, match="scored_tries"):
        OrchestrateTriesEngine(PocketMathTask(n_train=10, n_validation=10, n_test=10))
