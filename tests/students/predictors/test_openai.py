"""A model behind an OpenAI-compatible API."""

import pickle

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    Reply,
    SamplingParameters,
)
from dataenvgym.records import Message
from dataenvgym.students.predictors import OpenAIPredictor
from tests.teachers.conftest import FakeServer

SAMPLING = SamplingParameters()


def question(text):
    return (Message(role="user", content=text),)


@pytest.fixture
def url(stand_in):
    with stand_in.runs("--model", "gpt", "--served-model-name", "gpt") as url:
        yield url


def test_it_asks_for_its_model_with_the_key(url, stand_in, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    predictor = OpenAIPredictor("gpt", base_url=f"{url}/v1")
    replies = predictor.predict([question(str(n)) for n in range(50)], SAMPLING)
    assert replies == [Reply(text=f"gpt|{n}") for n in range(50)]
    asked = stand_in.events("ask")
    assert {(e["model"], e["key"]) for e in asked} == {("gpt", "Bearer secret")}
    assert predictor.submit(question("x"), SAMPLING).result() == Reply(text="gpt|x")


def test_closed_it_connects_again_when_it_is_asked_again(url):
    predictor = OpenAIPredictor("gpt", base_url=url, api_key_variable=None)
    predictor.close()
    for text in ("a", "b"):
        assert predictor.predict([question(text)], SAMPLING) == [Reply(text=f"gpt|{text}")]
        predictor.close()
        predictor.close()


def test_a_key_that_is_missing_is_named_when_it_is_first_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    predictor = OpenAIPredictor("gpt")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        predictor.predict([question("x")], SAMPLING)


def test_a_copy_finds_the_key_where_it_is(url, monkeypatch):
    monkeypatch.setenv("MY_KEY", "first-secret")
    predictor = OpenAIPredictor("gpt", base_url=url, api_key_variable="MY_KEY", concurrency=3)
    predictor.predict([question("x")], SAMPLING)
    sent = pickle.dumps(predictor)
    assert b"first-secret" not in sent
    twin = pickle.loads(sent)
    assert twin.describe() == predictor.describe()
    assert twin.predict([question("y")], SAMPLING) == [Reply(text="gpt|y")]


@pytest.fixture
def counting():
    server = FakeServer()
    yield server
    server.close()


def test_a_price_gives_replies_a_cost_where_the_server_counts_tokens(counting):
    price = {"prompt": 1.0, "completion": 2.0}
    predictor = OpenAIPredictor("gpt", base_url=counting.url, api_key_variable=None, price=price)
    counting.answer(lambda payload: "hello", tokens=(1_000_000, 500_000))
    assert [r.cost for r in predictor.predict([question("x")] * 2, SAMPLING)] == [2.0, 2.0]
    twin = pickle.loads(pickle.dumps(predictor))
    assert twin.predict([question("x")], SAMPLING)[0].cost == 2.0
    counting.answer(lambda payload: "hello")
    assert predictor.predict([question("x")], SAMPLING)[0].cost is None
    free = OpenAIPredictor("gpt", base_url=counting.url, api_key_variable=None)
    assert free.predict([question("x")], SAMPLING)[0].cost is None
    with pytest.raises(ConfigurationError, match="dollars"):
        OpenAIPredictor("gpt", price={"prompt": -1, "completion": 0})
