"""Tools that the server's template writes and calls that the server reads."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, SamplingParameters, TrainingRun
from dataenvgym.records import (
    ChatDatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    Tool,
    ToolCall,
)

SAMPLING = SamplingParameters(stop=("\nObservation:",))
TOOLS = (Tool(name="f"),)
RESULTS = (
    Message(role="user", content="q", tools=TOOLS),
    Message(role="assistant", content="", tool_calls=(ToolCall(name="f"),)),
    Message(role="tool", content="1"),
)
NATIVE = {"tool_format": "native", "tool_parser": "hermes"}


def test_a_server_that_reads_calls_is_started_and_sent_tools(make, stand_in):
    predictor = make(**NATIVE)
    assert predictor.describe()["tool_parser"] == "hermes"
    (reply,) = predictor.predict([RESULTS], SAMPLING)
    assert reply.text.endswith("|1")
    assert "--enable-auto-tool-choice --tool-call-parser hermes " in stand_in.lives[-1]
    (asked,) = stand_in.events("ask")
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["f"]
    ids = [asked["messages"][1]["tool_calls"][0]["id"], asked["messages"][2]["tool_call_id"]]
    assert ids == ["call00000"] * 2  # nine letters and digits, which Mistral's template wants
    assert asked["stop"] == ["\nObservation:"]


def test_a_server_for_text_is_started_without_a_parser(make, stand_in):
    predictor = make()
    predictor.predict([RESULTS], SamplingParameters())
    assert "tool" not in stand_in.lives[-1]
    assert "tool_parser" not in predictor.describe()
    (asked,) = stand_in.events("ask")
    assert "tools" not in asked
    assert "stop" not in asked


def test_a_parser_without_calls_to_read_is_refused(make):
    with pytest.raises(ConfigurationError, match="hermes"):
        make(tool_parser="hermes")
    with pytest.raises(ConfigurationError, match="tool_parser"):
        make(tool_format="native")
    with pytest.raises(ConfigurationError, match="tool_parser"):
        make(base_url="http://127.0.0.1:1", **NATIVE)


def test_a_running_server_that_reads_no_calls_gives_failures(make, stand_in, student):
    variables = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
    with stand_in.runs("--model", student, **variables) as url:
        (reply,) = make(base_url=url, tool_format="native").predict([RESULTS], SAMPLING)
        assert isinstance(reply, Failure)
        assert "parser" in reply.reason
    with stand_in.runs("--model", student, "--enable-auto-tool-choice", **variables) as url:
        (reply,) = make(base_url=url, tool_format="native").predict([RESULTS], SAMPLING)
        assert reply.text.endswith("|1")


def test_records_with_tools_are_not_trained_on_and_others_are(make, tmp_path):
    predictor = make(**NATIVE)
    plain = SupervisedDatum(instruction="1", output="2")
    end = Message(role="assistant", content="1")
    undeclared = RESULTS[0].model_copy(update={"tools": ()})
    for with_tools in (
        ChatDatum(messages=(*RESULTS[:0], undeclared, *RESULTS[1:], end)),
        ChatDatum(messages=(undeclared, end), tools=TOOLS),
        ScoredDatum(messages=(undeclared, end), tools=TOOLS, weights=(1.0,)),
        PreferenceDatum(messages=(undeclared,), tools=TOOLS, chosen="1", rejected="2"),
    ):
        with pytest.raises(ConfigurationError, match="mistral"):
            predictor.train([plain, with_tools], TrainingRun(directory=tmp_path))
    assert not list(tmp_path.glob("dataset"))
    chat = ChatDatum(messages=(undeclared, end))
    (tmp_path / "run").mkdir()
    predictor.train([plain, chat], TrainingRun(directory=tmp_path / "run"))
    assert predictor.predict([RESULTS], SAMPLING)[0].text.startswith(str(tmp_path / "run"))
