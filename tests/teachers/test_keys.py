"""API keys with stray characters, and keys that were given in place of a variable's name."""

import zlib

import pytest

from dataenvgym.cli.main import main
from dataenvgym.domains.tool_use.mcp.world import McpServer
from dataenvgym.errors import ConfigurationError
from dataenvgym.students.predictors import OpenAIPredictor
from dataenvgym.teachers import ChatClient, Teacher, key_from
from tests.teachers.conftest import GREEDY, say

KEY = "sk-proj-AbCd1234EfGh5678IjKl"
KEYS = [KEY, "hf_AbCd1234EfGh5678", "gsk_abcd1234efgh5678", "AKIAIOSFODNN7EXAMPLE", "abcd1234" * 4]


@pytest.mark.parametrize("around", ["{}\n", " {}", "{}\r\n", "\t{} \n\n", "{}\u00a0"])
def test_white_space_around_a_key_is_not_sent(server, monkeypatch, around):
    monkeypatch.setenv("MY_KEY", around.format(KEY))
    asking = {
        "predictor": OpenAIPredictor("m", base_url=server.url, api_key_variable="MY_KEY"),
        "teacher": Teacher("m", base_url=server.url, api_key_variable="MY_KEY"),
    }
    asking["predictor"].predict([say("x")], GREEDY)
    asking["teacher"].ask([say("x")], GREEDY, purpose="records")
    with ChatClient(server.url, api_key=around.format(KEY)) as client:
        client.submit(say("x"), GREEDY, model="m").result()
    assert {sent["Authorization"] for sent in server.headers} == {f"Bearer {KEY}"}
    for each in asking.values():
        each.close()


@pytest.mark.parametrize("stray", ["\n", "\r", "\x00", "\t", "\u200b", "\ufeff", "\x1b", "é"])
def test_a_key_with_a_line_break_within_is_refused_before_any_call(server, monkeypatch, stray):
    broken = f"{KEY[:12]}{stray}{KEY[12:]}"
    if stray != "\x00":
        monkeypatch.setenv("MY_KEY", broken)
        with pytest.raises(ConfigurationError, match="line break") as raised:
            OpenAIPredictor("m", base_url=server.url, api_key_variable="MY_KEY").submit(
                say("x"), GREEDY
            )
        assert "MY_KEY" in str(raised.value)
        for make in (
            lambda: Teacher("m", base_url=server.url, api_key_variable="MY_KEY"),
            lambda: key_from("MY_KEY", option="--token-variable"),
            lambda: McpServer(url=server.url, api_key_variable="MY_KEY").all_headers(),
        ):
            with pytest.raises(ConfigurationError, match="line break"):
                make()
    with pytest.raises(ConfigurationError, match="line break") as raised:
        ChatClient(server.url, api_key=broken)
    assert KEY[:12] not in str(raised.value)
    assert KEY[12:] not in str(raised.value)
    assert server.requests == []


@pytest.mark.parametrize("key", KEYS)
def test_a_key_in_place_of_a_variables_name_is_not_shown(monkeypatch, key):
    for make in (
        lambda: Teacher("m", api_key_variable=key),
        lambda: OpenAIPredictor("m", api_key_variable=key).predict([say("x")], GREEDY),
        lambda: key_from(key, option="--token-variable"),
        lambda: McpServer(url="http://h", api_key_variable=key).all_headers(),
        lambda: McpServer(url="http://h", headers={"Authorization": key}).all_headers(),
    ):
        with pytest.raises(ConfigurationError) as raised:
            make()
        assert key not in str(raised.value)
        assert "variable" in str(raised.value)
    for name in ("OPENAI_API_KEY_2", "_TOKEN", "MY_KEY"):
        monkeypatch.setenv("MY_KEY", "\n")
        with pytest.raises(ConfigurationError, match=f"{name} is not set"):
            key_from(name)
    monkeypatch.setenv(key, "a-real-key-1")  # then it is a name
    assert key_from(key) == "a-real-key-1"


SMALL = ["task.n_validation=2", "task.n_test=2", "task.n_train=2"]
LLM = ["agent/engine=llm", "teacher=openai", "teacher.model=x", *SMALL]
COMMANDS = [
    ["eval", "model=openai/x", "predictor.api_key_variable=KEY", *SMALL],
    ["config", *LLM[:1], "teacher=mine", "--config-dir", "mine"],
    ["serve-adaptation", "--token-variable", "KEY"],
]
MORE = [
    ["run", *LLM, "teacher.api_key_variable='KEY'"],
    ["config", *LLM, "teacher.api_key_variable=KEY"],
    ["run", *LLM[:1], "+teacher={_target_: dataenvgym.teachers.Teacher, api_key_variable: KEY}"],
    ["run", *LLM, "teacher.api_kay_variable=KEY"],
    ["run", *LLM[:1], "teacher=mine", "--config-dir", "mine", *SMALL],
    ["eval", "task=textworld_house", "task.role=strategist", "task.others.speaker=openai/y",
     "task.others.speaker.api_key_variable=KEY", *SMALL],
    ["serve-adaptation", "--token-variable=KEY"],
]  # fmt: skip


@pytest.mark.parametrize(
    "command", [*COMMANDS, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE)]
)
def test_no_message_and_no_file_shows_it(tmp_path, monkeypatch, capsys, command):
    key = f"sk-proj-AbCd{zlib.crc32(repr(command).encode())}"  # which no other test has registered
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine" / "teacher" / "mine.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text(f"_target_: dataenvgym.teachers.Teacher\nmodel: x\napi_key_variable: {key}\n")
    main([part.replace("KEY", key) for part in command])
    shown = capsys.readouterr()
    assert shown.out + shown.err
    assert key not in shown.out + shown.err
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != mine]
    assert [path for path in files if key in path.read_text(errors="replace")] == []
