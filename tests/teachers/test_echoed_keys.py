"""A server that repeats the API key in every way, under a whole episode: it is kept nowhere."""

import contextvars
from pathlib import Path

import pytest
from aiohttp import web

from dataenvgym import events
from dataenvgym.cli.main import main
from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.storage import read_jsonl
from dataenvgym.students.predictors import OpenAIPredictor
from tests.teachers.conftest import Author, completion, play

KEY = "sk-echo/0123456789+abc="
PASSWORD = "pass-word-42"


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """No secret outlives its test."""
    monkeypatch.setenv("ECHO_KEY", KEY)
    with events.secrets_apart():
        yield


def refuse(status: int):
    async def respond(request, payload):
        body = {"error": {"message": f"{request.headers['Authorization']}: {request.url}"}}
        headers = {"X-Key": KEY, "Retry-After": KEY}
        return web.json_response(body, status=status, headers=headers)

    return respond


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
    server.respond = Author(says=KEY)
    url = f"{server.url}/v1?key={PASSWORD}"
    summary = play(tmp_path, url, n=5, iterations=1, api_key_variable="ECHO_KEY")
    assert summary.iterations[-1].n_records == 5
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert files_with(tmp_path, KEY, PASSWORD) == []
    records = list(read_jsonl(tmp_path / "iterations" / "001" / "records.jsonl"))
    assert all(row["record"]["output"].startswith("REDACTED\n") for row in records)


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_in_an_error_is_in_no_file_and_in_no_message(tmp_path, server, status):
    server.respond = refuse(status)
    with pytest.raises(PredictionError, match="REDACTED") as raised:
        play(tmp_path, f"{server.url}?token={PASSWORD}", api_key_variable="ECHO_KEY")
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
    server.respond = refuse(401)
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
