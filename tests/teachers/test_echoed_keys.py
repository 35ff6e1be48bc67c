"""A server that repeats the API key in every way, under a whole episode: it is kept nowhere."""

import contextvars
import json
import random
import re
from pathlib import Path

import pytest
from aiohttp import web

from dataenvgym import events
from dataenvgym.agents import Agent, LLMEngine, OpenEndedPolicy
from dataenvgym.cli.main import main
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded
from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_jsonl
from dataenvgym.students.predictors import OpenAIPredictor, ScriptedPredictor
from dataenvgym.teachers import Teacher
from tests.teachers.conftest import completion

KEY = "sk-echo/0123456789+abc="
PASSWORD = "pass-word-42"


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """No secret outlives its test."""
    monkeypatch.setenv("ECHO_KEY", KEY)
    with events.secrets_apart():
        yield


def words(draw: random.Random) -> str:
    return " ".join("".join(draw.choices("abcdefghij", k=6)) for _ in range(4))


def said(payload) -> str:
    """The records that are asked for, with the key in each."""
    count = int(re.search(r"Write (\d+) new", payload["messages"][-1]["content"])[1])
    draw = random.Random(len(str(payload)) + count)
    records = [
        {"instruction": f"Say {words(draw)} with {KEY}.", "output": f"{KEY}\n#### {n}"}
        for n in range(count)
    ]
    return json.dumps({"records": records})


def respond_with(*, status=200):
    async def respond(request, payload):
        headers = {"X-Key": KEY, "Retry-After": KEY}
        if status != 200:
            body = {"error": {"message": f"{request.headers['Authorization']}: {request.url}"}}
            return web.json_response(body, status=status, headers=headers)
        choice = {"message": {"content": said(payload)}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice]}, headers=headers)

    return respond


def play(directory: Path, url: str):
    teacher = Teacher(
        "author", base_url=url, api_key_variable="ECHO_KEY", directory=directory, retries=0
    )
    engine = LLMEngine(teacher, task := PocketMathTask(n_validation=4, n_test=4), batch_size=5)
    agent = Agent(OpenEndedPolicy(), engine, name="open_ended", records_per_iteration=5)
    student = ScriptedPredictor(lambda conversation: "#### 12345")
    environment = OpenEnded(task, student, directory=directory)
    try:
        return run_episode(environment, agent, iterations=1)
    finally:
        teacher.close()


def files_with(folder: Path, *secret: str) -> list[str]:
    spellings = [s for one in secret for s in (one, one.replace("/", r"\/"))]
    return [
        f"{path.relative_to(folder)}: {spelling}"
        for path in folder.rglob("*")
        if path.is_file()
        for spelling in spellings
        if spelling.encode() in path.read_bytes()
    ]


def test_a_key_in_replies_is_in_no_file_and_records_say_so(tmp_path, server):
    server.respond = respond_with()
    summary = play(tmp_path, f"{server.url}/v1?key={PASSWORD}")
    assert summary.iterations[-1].n_records == 5
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert files_with(tmp_path, KEY, PASSWORD) == []
    records = list(read_jsonl(tmp_path / "iterations" / "001" / "records.jsonl"))
    assert all(row["record"]["output"].startswith("REDACTED\n") for row in records)


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_in_an_error_is_in_no_file_and_in_no_message(tmp_path, server, status):
    server.respond = respond_with(status=status)
    with pytest.raises(PredictionError, match="REDACTED") as raised:
        play(tmp_path, f"{server.url}?token={PASSWORD}")
    assert KEY not in str(raised.value)
    assert PASSWORD not in str(raised.value)
    assert "REDACTED" in (tmp_path / "summary.json").read_text()
    assert files_with(tmp_path, KEY, PASSWORD) == []


def test_a_client_of_an_earlier_episode_keeps_its_key_in_a_later_one(server):
    async def respond(request, payload):
        return completion(f"{KEY} {PASSWORD}")

    server.respond = respond
    url = f"{server.url}/v1?key={PASSWORD}"
    student = OpenAIPredictor("m", base_url=url, api_key_variable="ECHO_KEY")

    def episode():
        with events.secrets_apart():
            asked = (Message(role="user", content="?"),)
            return student.predict([asked], SamplingParameters())[0].text

    try:
        texts = [contextvars.Context().run(episode) for _ in range(2)]
    finally:
        student.close()
    assert texts == ["REDACTED REDACTED"] * 2


def test_the_command_line_keeps_and_shows_no_key(tmp_path, server, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    server.respond = respond_with(status=401)
    overrides = (
        "student=simulated agent=open_ended agent/engine=llm name=mine episode.iterations=1 "
        "teacher=openai teacher.model=author teacher.retries=0 teacher.api_key_variable=ECHO_KEY "
        f"teacher.base_url='{server.url}/v1?key={PASSWORD}' "
        "task.n_validation=8 task.n_test=8"
    ).split()
    for _ in range(2):  # the second time it is resumed
        assert main(["run", "--plain", "--debug", *overrides]) == 1
    shown = "".join(capsys.readouterr())
    assert "HTTP 401" in shown
    assert "key=REDACTED" in (tmp_path / "runs" / "mine" / "config.yaml").read_text()
    assert files_with(tmp_path, KEY, PASSWORD) == []
    assert KEY not in shown
    assert PASSWORD not in shown
    assert len(server.requests) == 2
