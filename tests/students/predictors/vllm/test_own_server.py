"""Servers that we start: they come up, die, and are started again."""

import gc
import socket
import threading

import psutil
import pytest

from dataenvgym.errors import ConfigurationError, ServerError
from dataenvgym.events import hearing_progress
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import Message, TaskInstance
from dataenvgym.students.external.processes import end_process_tree
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.vllm import own_server, server
from dataenvgym.students.trainers.adapters import Adapter
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout
from tests.students.predictors.conftest import ask, program

SAMPLING = SamplingParameters()


class Repeating(TaskEnvironment):
    """Right if the student repeats the question, three times."""

    def respond(self, instance, conversation):
        said = [m.content.split("|")[-1] for m in conversation if m.role == "assistant"]
        if len(said) < 3:
            return Outcome(messages=(Message(role="user", content=instance.answer),), done=False)
        was_correct = said == [instance.answer] * 3
        return Outcome(reward=float(was_correct), was_correct=was_correct)


def evaluate(predictor, n=30):
    instances = [
        TaskInstance(id=f"i{k}", task="repeat", instruction=f"{k}", answer=f"{k}") for k in range(n)
    ]
    return rollout(predictor, instances, Repeating, sampling=SAMPLING)


# --- coming up ---


def test_a_server_is_started_when_it_is_first_asked_and_ended_with_its_user(make, stand_in):
    predictor = make()
    assert stand_in.lives == []
    assert ask(predictor, "hello") == f"{predictor.student}|hello"
    running = predictor.server
    assert running.is_alive
    predictor.close()
    assert not running.is_alive
    assert ask(predictor, "again").endswith("|again")  # it starts anew
    assert len(stand_in.lives) == 2


def test_a_failed_start_is_an_error_with_its_last_words_and_may_be_tried_again(make, stand_in):
    stand_in.plan({"exit": "has no GPU"}, {})
    predictor = make()
    with pytest.raises(ServerError, match="ended while it started") as caught:
        ask(predictor)
    assert str(caught.value).endswith("the stand-in has no GPU")
    assert ask(predictor, "x").endswith("|x")


def test_a_server_that_is_given_up_while_it_starts_is_not_waited_for(make, stand_in, monkeypatch):
    """vLLM, asked to end while it starts, takes more than 20 s."""
    given = []

    def end(pid, *, grace):
        given.append(grace)
        end_process_tree(pid, grace=0.01)

    monkeypatch.setattr(own_server, "end_process_tree", end)
    stand_in.plan({"deaf": True, "stubborn": True})
    predictor = make()
    with monkeypatch.context() as patch:
        patch.setattr(server, "tell", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(predictor)
    assert sum(given) <= 1
    stand_in.plan({})
    ask(predictor)
    predictor.close()
    assert given[-1] >= 5  # one that is up may finish what it does


def interrupt(_):
    raise KeyboardInterrupt


def test_a_port_that_is_taken_is_refused(make):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} is taken"):
            ask(make(port=port))


def test_on_cpu_the_untouched_student_has_an_adapter_that_changes_nothing(make, stand_in):
    predictor, on_a_gpu = make(), make(variant="cuda")
    for student in (predictor, on_a_gpu):
        assert ask(student, "x") == f"{student.student}|x"
    here, there = [e["model"] for e in stand_in.events("ask")]
    assert here == "untouched"
    assert there == "student"
    program(predictor.server).kill()
    assert ask(predictor, "y") == f"{predictor.student}|y"


# --- dying ---


def test_a_server_that_dies_under_an_evaluation_is_started_again_and_nothing_is_lost(
    make, stand_in, adapter
):
    stand_in.plan({"die_at": 40}, {})
    predictor = make()
    predictor.load(adapter("a"))
    told = []
    with hearing_progress(told.append):
        completed = evaluate(predictor)
    assert len(stand_in.lives) == 2
    assert [c.error for c in completed] == [None] * 30
    assert all(c.was_correct for c in completed)
    assert {m.content.split("|")[0] for c in completed for m in c.transcript[1::2]} == {
        str(adapter("a"))
    }
    assert "the vLLM server died: starting it again" in told
    before = predictor.server.log.with_name("log-before.txt")
    assert "dies at question 40" in before.read_text()
    assert "listening" in predictor.server.log.read_text()


def test_a_server_that_dies_again_is_an_error_for_the_caller(make, stand_in):
    stand_in.plan({"die_at": 40}, {"die_at": 9})
    predictor = make()
    with pytest.raises(ServerError, match="died again") as caught:
        evaluate(predictor)
    assert str(caught.value).endswith("the stand-in dies at question 9")
    assert len(stand_in.lives) == 2
    with pytest.raises(ServerError, match="died again"):
        ask(predictor)


@pytest.mark.slow
def test_with_each_adapter_a_server_may_die_once_more(make, stand_in, adapter):
    stand_in.plan({"die_at": 2}, {"die_at": 2}, {})
    predictor = make()
    texts = []
    for name in "ab":
        predictor.load(adapter(name))
        texts += [ask(predictor, name), ask(predictor, name)]
    assert texts == [f"{adapter(name)}|{name}" for name in "aabb"]
    assert len(stand_in.lives) == 3


def test_a_server_that_died_unseen_is_brought_back_by_a_new_adapter(make, stand_in, adapter):
    predictor = make()
    predictor.load(adapter("a"))
    program(predictor.server).kill()
    predictor.load(adapter("b"))
    assert ask(predictor, "x") == f"{adapter('b')}|x"
    assert len(stand_in.lives) == 2


@pytest.mark.slow
def test_children_of_a_killed_server_are_ended_before_the_next_start(make, stand_in):
    with_a_child = ["/bin/sh", "-c", 'sleep 600 & exec "$@"', "sh", *stand_in.command]
    predictor = make(command=with_a_child)
    ask(predictor)
    server = program(predictor.server)
    (child,) = server.children()
    server.kill()
    assert ask(predictor, "x").endswith("|x")
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
def test_an_adapter_that_is_gone_when_the_server_is_started_again_is_an_error_for_the_caller(
    make, stand_in, adapter
):
    stand_in.plan({"die_at": 1}, {})
    predictor = make()
    predictor.load(adapter("a"))
    (adapter("a") / "adapter_config.json").unlink()
    with pytest.raises(ServerError, match="an adapter is lost"):
        evaluate(predictor)


# --- sharing in one process ---


def test_predictors_of_a_process_share_a_server_and_have_adapters_of_their_own(
    make, stand_in, adapter
):
    first, second, third = make(), make(), make(max_loras=2)
    first.load(adapter("a"))
    second.load(adapter("b"))
    assert ask(first, "x") == f"{adapter('a')}|x"
    assert ask(second, "x") == f"{adapter('b')}|x"
    assert first.server is second.server
    assert third.server is not first.server  # has other options
    first.close()
    assert ask(second, "y") == f"{adapter('b')}|y"
    assert [e["path"] for e in stand_in.events("load")] == [str(adapter("a")), str(adapter("b"))]
    assert len(stand_in.events("unload")) == 1
    running = second.server
    second.close()
    assert not running.is_alive
    assert third.server.is_alive


def test_a_server_that_several_start_at_the_same_time_is_one(make, stand_in):
    predictors = [make() for _ in range(4)]
    replies: list = [None] * 4

    def first_question(i):
        replies[i] = ask(predictors[i], str(i))

    threads = [threading.Thread(target=first_question, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply.split("|")[1] for reply in replies] == list("0123")
    assert len(stand_in.lives) == 1


def test_a_garbage_collected_predictor_ends_its_server(make, stand_in, student):
    from dataenvgym.students.predictors import VllmPredictor

    predictor = VllmPredictor(student, command=stand_in.command, variant="cpu")
    assert not isinstance(ask(predictor), Failure)
    running = predictor.server
    del predictor
    gc.collect()
    assert not running.is_alive


def test_a_student_answers_under_zeros_as_if_it_had_no_adapter(tiny_student, tmp_path):
    asked = [(Message(role="user", content=f"{n}"),) for n in range(6)]
    predictor = InProcessPredictor(tiny_student)
    expected = predictor.predict(asked, SamplingParameters(max_tokens=8))
    assert own_server._write_zero_adapter(tmp_path, str(tiny_student))
    predictor.load(tmp_path)  # PEFT finds its layer
    assert predictor.predict(asked, SamplingParameters(max_tokens=8)) == expected
    adapter = Adapter.read(tmp_path)
    assert adapter.config["r"] == 1
    assert len(adapter.weights) == 2
    assert not any(weights.any() for weights in adapter.weights.values())
