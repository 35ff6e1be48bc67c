import json
from concurrent.futures import Future
from functools import partial

import pytest

from dataenvgym.domains.orchestrate.tiers import (
    DEFAULT_TIERS,
    ServerPool,
    make_speakers,
    parse_tiers,
    read_endpoints,
)
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Message

ASKED = (Message(role="user", content="?"),)


def test_the_default_tiers_have_the_published_prices_and_seconds():
    found = {
        name: (tier.price.prompt, tier.price.completion, tier.seconds)
        for name, tier in DEFAULT_TIERS.items()
    }
    assert found == {
        "search-1": (1.25, 10, 22), "search-2": (0.25, 2, 16), "search-3": (0.8, 0.8, 8),
        "reasoner-1": (1.25, 10, 31), "reasoner-2": (0.25, 2, 25), "reasoner-3": (0.8, 0.8, 9),
        "answer-1": (1.25, 10, 96), "answer-2": (0.25, 2, 27), "answer-3": (0.9, 0.9, 15),
        "answer-4": (0.8, 0.8, 11), "answer-math-1": (0.9, 0.9, 13), "answer-math-2": (0.2, 0.2, 9),
    }  # fmt: skip


def test_options_change_a_tier_and_add_new_ones():
    given = {"answer-4": {"accuracy": 0.5}, "mine": {"tool": "answer", "accuracy": {"easy": 1}}}
    tiers = parse_tiers(given)
    assert tiers["answer-4"].accuracy == 0.5
    assert tiers["answer-4"].seconds == 11
    assert tiers["mine"].price is None
    assert tiers["mine"].chance("mine", "easy") == 1.0
    with pytest.raises(ConfigurationError, match="mine"):
        tiers["mine"].chance("mine", "hard")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"answer-1": {"seconds": -3}}, r"answer-1.*seconds.*-3"),
        ({"answer-1": {"acuracy": 1}}, r"answer-1.*acuracy"),
        ({"anwser-1": {"accuracy": 1}}, r"anwser-1.*tool"),
        ({"answer-1": 7}, "answer-1.*dictionary"),
    ],
)
def test_an_invalid_tier_is_named_in_one_message(given, match):
    with pytest.raises(ConfigurationError, match=match) as found:
        parse_tiers(given)
    assert "\n" not in str(found.value)


def test_a_file_of_endpoints_has_several_servers_for_a_model(tmp_path):
    path = tmp_path / "model_config.json"
    servers = [{"ip_addr": "10.0.0.1", "port": 1800}, {"ip_addr": "h2", "port": "1801"}]
    entries = {"_comment": "x", "Qwen/Qwen3-32B": servers, "retrieval": servers[:1]}
    path.write_text(json.dumps(entries))
    found = read_endpoints(path)
    assert found == {
        "Qwen/Qwen3-32B": ("http://10.0.0.1:1800", "http://h2:1801"),
        "retrieval": ("http://10.0.0.1:1800",),
    }
    made = make_speakers(parse_tiers(None), found, {"search-3": object()})
    assert {*made} == {"answer-4"}  # the model of search-3 is named by the user
    assert made["answer-4"].describe()["base_urls"] == list(found["Qwen/Qwen3-32B"])


@pytest.mark.parametrize("text", ["{", '{"a": [{"ip_addr": "h", "port": "x"}]}', '{"a": []}'])
def test_a_file_that_is_none_of_endpoints_is_refused_with_the_form(tmp_path, text):
    path = tmp_path / "servers.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"servers.json.*ip_addr"):
        read_endpoints(path)


def test_conversations_and_retries_go_to_the_next_server():
    pool, asked = ServerPool("m", ["http://127.0.0.1:9", "http://127.0.0.1:10"]), []

    def submit(number, conversation, sampling):
        asked.append(number)
        future = Future()
        future.set_result(Reply(text="yes") if number else Failure(reason="down", outage=True))
        return future

    for number, server in enumerate(pool.servers):
        server.submit = partial(submit, number)
    replies = pool.predict([ASKED] * 4, SamplingParameters())
    assert asked == [0, 1, 0, 1]
    assert [isinstance(reply, Reply) for reply in replies] == [False, True, False, True]
    tiers = parse_tiers({"new": {"tool": "answer", "base_url": "http://h:1"}})
    with pytest.raises(ConfigurationError, match=r"task\.tiers\.new\.model"):
        make_speakers(tiers, {}, {})
