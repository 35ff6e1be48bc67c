"""Servers that somebody else started."""

import socket
import threading

import pytest

from dataenvgym.agents.quality import AlreadyKnownCheck
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError, ServerError
from dataenvgym.events import hearing_progress
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.students.external.processes import free_port
from dataenvgym.students.predictors import VllmPredictor
from dataenvgym.students.predictors.vllm import server
from tests.students.predictors.conftest import ask

RUNTIME = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}


def test_adapters_come_and_go_on_a_server_that_runs_already(make, stand_in, student, adapter):
    with stand_in.runs("--model", student, **RUNTIME) as url:
        first, second = make(base_url=f"{url}/v1"), make(base_url=f"{url}/v1")
        assert ask(first, "x") == f"{student}|x"
        first.load(adapter("a"))
        second.load(adapter("b"))
        assert [ask(first, "x"), ask(second, "x")] == [f"{adapter('a')}|x", f"{adapter('b')}|x"]
        assert first.server is second.server
        first.close()
        second.close()
        loaded = [e["name"] for e in stand_in.events("load", "load blank")]
        unloaded = [e["name"] for e in stand_in.events("unload", "unload blank")]
        assert sorted(loaded) == sorted(unloaded)
        assert len(stand_in.lives) == 1


def test_a_server_with_another_model_is_refused(make, stand_in, student, tmp_path):
    with stand_in.runs("--model", "Qwen/Qwen3-8B", "--served-model-name", "q", **RUNTIME) as url:
        with pytest.raises(ConfigurationError, match="serves"):
            ask(make(base_url=url))
        assert ask(make(base_url=url, student="Qwen/Qwen3-8B"), "x") == "Qwen/Qwen3-8B|x"
    other = tmp_path / "elsewhere" / "student"  # the same name, and not the same
    other.mkdir(parents=True)
    refused = pytest.raises(ConfigurationError, match=f"is '{student}'")
    with stand_in.runs("--model", str(other), **RUNTIME) as url, refused:
        ask(make(base_url=url))
    with stand_in.runs("--model", "/not/here/student", **RUNTIME) as url:
        assert ask(make(base_url=url), "x") == "/not/here/student|x"


def test_a_rank_that_the_server_does_not_take_is_refused_before_a_training(
    make, stand_in, student, make_trainer
):
    with stand_in.runs("--model", student, **RUNTIME) as url:
        predictor = make(make_trainer(lora_rank=32), base_url=url)
        with pytest.raises(ConfigurationError, match="rank") as caught:
            ask(predictor)
        assert "LoRA rank 32 is greater than max_lora_rank 16." in str(caught.value)
        make(make_trainer(lora_rank=16), base_url=url).server.is_healthy()


def test_a_server_that_takes_no_adapters_while_it_runs_is_refused(make, stand_in, student):
    variables = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": ""}
    refused = pytest.raises(ConfigurationError, match="LORA_UPDATING")
    with stand_in.runs("--model", student, **variables) as url, refused:
        ask(make(base_url=url))


def test_a_server_that_is_away_or_never_answers_is_reported_soon(make, monkeypatch):
    with pytest.raises(ServerError, match="/v1/models: no connection"):
        ask(make(base_url=f"http://127.0.0.1:{free_port()}"))
    assert server.LOOK_SECONDS <= 15
    monkeypatch.setattr(server, "LOOK_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(ServerError, match="no vLLM"):
            ask(make(base_url=url))


@pytest.mark.slow
def test_a_server_that_stays_away_is_an_error_with_a_solution(make, stand_in, student):
    stand_in.plan({"die_at": 2})
    with stand_in.runs("--model", student, **RUNTIME) as url:
        predictor = make(base_url=url, start_timeout=0.2)
        ask(predictor)
        with pytest.raises(ServerError, match="again, then"):
            ask(predictor)
        with pytest.raises(ServerError, match="was not started here"):
            predictor.server.restart()


def test_a_server_that_is_restarted_under_a_question_is_waited_for_as_long_as_our_own(
    make, stand_in, student, adapter, monkeypatch
):
    monkeypatch.setattr(server, "AWAY_SECONDS", 0.0)  # allowed silence of our own running server
    where = ("--port", str(free_port()), "--model", student)
    is_waited_for, texts = threading.Event(), []

    def hear(text):
        if "does not answer: waiting" in text:
            is_waited_for.set()

    with stand_in.runs(*where, **RUNTIME) as url:
        predictor = make(base_url=url)
        predictor.load(adapter("a"))
    asking = threading.Thread(target=lambda: texts.append(ask(predictor, "x")))
    with hearing_progress(hear):
        asking.start()
        assert is_waited_for.wait(30)
        with stand_in.runs(*where, **RUNTIME):
            asking.join(30)
    assert texts == [f"{adapter('a')}|x"]


@pytest.mark.parametrize("way", ["predict", "submit", "check"])
def test_a_server_restarted_while_idle_gets_its_adapter_again(
    make, stand_in, student, adapter, way
):
    where = ("--port", str(free_port()), "--model", student)
    with stand_in.runs(*where, **RUNTIME) as url:
        predictor = make(base_url=url)
        predictor.load(adapter("a"))
        assert ask(predictor, "x") == f"{adapter('a')}|x"
    question = (Message(role="user", content="x"),)
    with stand_in.runs(*where, **RUNTIME):
        if way == "check":  # the fake server repeats the question, so it knows the answer
            record = SupervisedDatum(instruction="#### 1", output="#### 1")
            assert AlreadyKnownCheck(PocketMathTask()).passes([record], predictor) == [False]
        elif way == "submit":
            futures = [predictor.submit(question, SamplingParameters()) for _ in range(20)]
            assert {future.result(30).text for future in futures} == {f"{adapter('a')}|x"}
        assert ask(predictor, "y") == f"{adapter('a')}|y"
        loaded = [e["path"] for e in stand_in.events("load")]
        assert loaded == [str(adapter("a"))] * 2  # once for each life
        predictor.close()


def test_a_server_that_comes_back_with_another_model_is_an_error(make, stand_in, student, adapter):
    port = str(free_port())
    with stand_in.runs("--port", port, "--model", student, **RUNTIME) as url:
        predictor = make(base_url=url)
        predictor.load(adapter("a"))
    refused = pytest.raises(ServerError, match="restarted")
    with stand_in.runs("--port", port, "--model", "Qwen/Qwen3-8B", **RUNTIME), refused:
        ask(predictor)


def test_a_server_that_does_not_keep_an_adapter_fails_the_question_and_not_for_ever(
    make, stand_in, student, adapter
):
    with stand_in.runs("--model", student, **RUNTIME) as url:
        predictor = make(base_url=url)
        predictor.load(adapter("a"))
        predictor.server.adapters.clear()  # so it is not loaded again
        predictor.server._unload(predictor._name)
        assert "does not exist" in ask(predictor).reason


def test_a_key_is_sent_and_one_that_is_missing_is_named(make, stand_in, student, monkeypatch):
    with stand_in.runs("--model", student, **RUNTIME) as url:
        with pytest.raises(ConfigurationError, match="MY_KEY is not set"):
            ask(make(base_url=url, api_key_variable="MY_KEY"))
        monkeypatch.setenv("MY_KEY", "secret")
        ask(make(base_url=url, api_key_variable="MY_KEY"))
        assert stand_in.events("ask")[-1]["key"] == "Bearer secret"


def test_options_that_would_start_a_server_are_refused(make, make_trainer):
    for name, value in (
        ("command", "vllm serve"),
        ("port", 1),
        ("gpus", [0]),
        ("max_lora_rank", 8),
        ("max_model_len", 5),
        ("options", {"seed": 1}),
    ):
        with pytest.raises(ConfigurationError, match=f"so {name} would start"):
            VllmPredictor(base_url="http://127.0.0.1:1", **{name: value})
    with pytest.raises(ConfigurationError, match="makes whole students"):
        make(make_trainer(finetuning_type="full"), base_url="http://127.0.0.1:1")
