"""One GPU for two: the server sleeps while the trainer works."""

import threading

import pytest

from dataenvgym.errors import ConfigurationError, TrainingError
from dataenvgym.interfaces import TrainingRun
from dataenvgym.records import SupervisedDatum
from dataenvgym.students.predictors.vllm.server import PROBE
from tests.students.predictors.conftest import program, who

DATA = [SupervisedDatum(instruction="1", output="2")]


@pytest.fixture
def sleeper(make, make_trainer):
    """A student whose server sleeps, and its trainer."""
    trainer = make_trainer()
    return make(trainer, sleep=True, variant="cuda"), trainer


def test_the_server_sleeps_while_the_trainer_works(sleeper, stand_in, tmp_path):
    predictor, trainer = sleeper
    during = []
    trainer.during = lambda: during.append([e["event"] for e in stand_in.events("sleep", "wake")])
    predictor.train(DATA, TrainingRun(directory=tmp_path))
    assert during == [["sleep"]]
    assert [e["event"] for e in stand_in.events("sleep", "wake")] == ["sleep", "wake"]
    assert who(predictor) == str(tmp_path / "adapter")
    probes = [e for e in stand_in.events("ask") if e["messages"][-1]["content"] == PROBE[0].content]
    assert len(probes) == 2
    assert len(stand_in.lives) == 1


def test_adapters_are_loaded_again_after_sleep(sleeper, stand_in, adapter, tmp_path):
    predictor, trainer = sleeper
    predictor.load(adapter("a"))

    def fail():
        raise TrainingError("no")

    trainer.during = fail
    with pytest.raises(TrainingError):
        predictor.train(DATA, TrainingRun(directory=tmp_path))
    assert who(predictor) == str(adapter("a"))  # the fake server's old ones are garbled now
    names = [e["name"] for e in stand_in.events("load")]
    assert len(set(names)) == 2
    assert len(stand_in.lives) == 1
    predictor.reset()
    assert who(predictor) == predictor.student


def test_a_server_that_answers_differently_after_sleep_is_restarted(
    sleeper, stand_in, adapter, tmp_path
):
    predictor, _ = sleeper
    stand_in.plan({"corrupt": True}, {})
    predictor.load(adapter("a"))
    predictor.train(DATA, TrainingRun(directory=tmp_path))
    assert len(stand_in.lives) == 2
    assert who(predictor) == str(tmp_path / "adapter")


def test_a_server_without_sleep_mode_is_refused_with_the_way_out(make, stand_in, student, tmp_path):
    variables = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
    with stand_in.runs("--model", student, **variables) as url:
        predictor = make(base_url=url, sleep=True)
        with pytest.raises(ConfigurationError, match="enable-sleep-mode"):
            predictor.train(DATA, TrainingRun(directory=tmp_path))
        assert who(predictor) == student  # nothing waits for a wake


def test_a_question_that_comes_meanwhile_waits_until_the_server_is_awake(sleeper, tmp_path):
    predictor, trainer = sleeper  # the fake server dies if it is asked in its sleep
    replies = []
    asking = threading.Thread(target=lambda: replies.append(who(predictor)))
    trainer.during = asking.start
    predictor.train(DATA, TrainingRun(directory=tmp_path))
    asking.join()
    assert replies[0] in (predictor.student, str(tmp_path / "adapter"))


def test_a_server_that_died_in_its_sleep_is_brought_back(sleeper, stand_in, adapter, tmp_path):
    from dataenvgym.students.external.processes import end_process_tree

    predictor, trainer = sleeper
    predictor.load(adapter("a"))
    pid = predictor.server.pid
    trainer.during = lambda: end_process_tree(pid)
    predictor.train(DATA, TrainingRun(directory=tmp_path))
    assert who(predictor) == str(tmp_path / "adapter")
    assert len(stand_in.lives) == 2


@pytest.mark.slow
def test_a_failed_training_counts_more_than_a_server_that_does_not_wake_up(
    make, make_trainer, stand_in, tmp_path
):
    stand_in.plan({}, {"deaf": True})
    trainer = make_trainer()
    predictor = make(trainer, sleep=True, variant="cuda", start_timeout=5.0)

    def fail():
        program(predictor.server).kill()
        raise TrainingError("the disk is full")

    trainer.during = fail
    with pytest.raises(TrainingError, match="the disk is full") as caught:
        predictor.train(DATA, TrainingRun(directory=tmp_path))
    assert "did not wake up either" in caught.value.__notes__[0]
