import contextvars
import json
import logging
import re
import sys
from urllib.parse import quote

import orjson
import pytest

from dataenvgym import events
from dataenvgym.events import keep_secret, keep_secrets_of, redact, redact_bytes, without_secrets
from dataenvgym.storage import write_json, write_jsonl, write_text
from dataenvgym.studies.executors.in_process import log_to


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """No secret outlives its test."""
    monkeypatch.setattr(events, "_all", events._Secrets())
    with events.secrets_apart():
        yield


@pytest.mark.parametrize(
    "spelled",
    [
        str,
        lambda key: json.dumps(key)[1:-1],
        lambda key: json.dumps(json.dumps(key)[1:-1])[1:-1],  # an error that quotes another one
        lambda key: repr(key)[1:-1],
        lambda key: re.sub("%..", lambda code: code[0].lower(), quote(key, safe="")),
    ],
)
@pytest.mark.parametrize(
    "key", ['sk-1/2+3"4\\5=', "schlüssel-1234", "sk-plain-0123456789", "sk-'a\"b\\12"]
)
def test_a_secret_is_redacted_however_it_is_spelled(key, spelled):
    keep_secret(key)
    said = f"the key <{spelled(key)}> is wrong"
    assert redact(said) == "the key <REDACTED> is wrong"
    assert redact_bytes(said.encode()) == b"the key <REDACTED> is wrong"


def test_in_a_json_file_nothing_but_the_secret_changes(tmp_path):
    keep_secret('sk-"1"/ü')
    value = {"error": 'no: sk-"1"/ü', "n": 1}
    write_json(tmp_path / "a", value)
    write_jsonl(tmp_path / "b", [value, value])
    write_text(tmp_path / "c", str(value["error"]))
    hidden = {"error": "no: REDACTED", "n": 1}
    assert orjson.loads((tmp_path / "a").read_bytes()) == hidden
    assert [json.loads(x) for x in (tmp_path / "b").read_text().splitlines()] == [hidden] * 2
    assert (tmp_path / "c").read_text() == "no: REDACTED"


def test_a_longer_secret_goes_before_its_beginning():
    keep_secret("sk-12345")
    keep_secret("sk-12345-67890")
    assert redact("sk-12345-67890 sk-12345") == "REDACTED REDACTED"


@pytest.mark.parametrize("value", [None, "", "EMPTY", "sk-1234", "password", "0123456789"])
def test_values_that_may_be_in_ordinary_text_are_not_redacted(value):
    keep_secret(value)
    text = f"the {value} of the day"
    assert redact(text) == text


@pytest.mark.parametrize(
    ("url", "shown", "secret"),
    [
        ("http://me:hunter-22@host:80/v1", "http://me:REDACTED@host:80/v1", "hunter-22"),
        ("http://me:p%40ssw0rd@host/v1", "http://me:REDACTED@host/v1", "p@ssw0rd"),
        ("http://token-123@host/v1", "http://REDACTED@host/v1", "token-123"),
        ("http://h/v1?a=1&key=abcd-1234", "http://h/v1?a=1&key=REDACTED", "abcd-1234"),
        ("http://h/v1?api-key=abcd-1234&b=2", "http://h/v1?api-key=REDACTED&b=2", "abcd-1234"),
        ("redis://:hunter-22@host/0", "redis://:REDACTED@host/0", "hunter-22"),
        ("http://me:short@host/v1", "http://me:REDACTED@host/v1", None),
        ("http://h/v1?api-version=2024-10-21", "http://h/v1?api-version=2024-10-21", None),
        ("mail me@host", "mail me@host", None),
        ("http://me:a-b-c-d-e@[", "http://me:a-b-c-d-e@[", None),
        ("see http://h?key=abcd-1234", "see http://h?key=abcd-1234", None),  # a prompt, say
    ],
)
def test_a_url_is_shown_without_its_secrets(url, shown, secret):
    assert without_secrets({"urls": [url], "n": 1}) == {"urls": [shown], "n": 1}
    if secret is not None:
        assert redact(f"no such key: {secret}") == "no such key: REDACTED"


def test_urls_are_found_in_the_words_of_a_command_and_passwords_known_as_they_are_sent():
    keep_secrets_of("run a.base_url='http://me:hunter-22@host/v1' b=[http://h?key=abcd-1234,c]")
    assert redact("hunter-22 abcd-1234 host") == "REDACTED REDACTED host"
    assert redact("Basic bWU6aHVudGVyLTIy") == "Basic REDACTED"


def test_the_log_and_the_terminal_show_none(tmp_path, capsys):
    keep_secret("sk-0123456789")
    with log_to(tmp_path / "log.txt"):
        try:
            raise ValueError("key sk-0123456789")
        except ValueError:
            logging.getLogger("x").warning("no: %s", "sk-0123456789", exc_info=True)
    assert (tmp_path / "log.txt").read_text().count("REDACTED") == 3
    assert "sk-0123456789" not in (tmp_path / "log.txt").read_text()
    with events.redacted_output():
        print("sk-0123456789")
        sys.stderr.writelines(["sk-0123456789\n"])
        assert not sys.stdout.isatty()
    assert tuple(capsys.readouterr()) == ("REDACTED\n", "REDACTED\n")


def test_secrets_of_an_episode_are_not_redacted_in_another_one_but_on_the_terminal(capsys):
    def registers(own: str) -> str:
        with events.secrets_apart():
            keep_secret(own)
            return redact("sk-of-first, sk-of-second, sk-of-all")

    contextvars.Context().run(keep_secret, "sk-of-all")
    in_both = [contextvars.Context().run(registers, own) for own in ("sk-of-first", "sk-of-second")]
    assert in_both == ["REDACTED, sk-of-second, REDACTED", "sk-of-first, REDACTED, REDACTED"]
    with events.redacted_output():
        print("sk-of-first sk-of-second")
    assert capsys.readouterr().out == "REDACTED REDACTED\n"
