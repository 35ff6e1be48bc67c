"""Which MCP server to take tools from, and with which secrets."""

import pytest

from dataenvgym.domains.tool_use.mcp import McpServer
from dataenvgym.domains.tool_use.mcp.world import require_mcp
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import redact


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "command"),
        ({"command": ["x"], "url": "http://x/mcp"}, "url"),
        ({"command": "npx server"}, "list"),
    ],
)
def test_impossible_values_are_refused_by_name(options, said):
    with pytest.raises(ConfigurationError, match=said):
        McpServer(**options)


def test_a_key_and_headers_are_read_from_the_environment_and_redacted(monkeypatch):
    monkeypatch.setenv("MCP_KEY", "key-1234-of-a-server")
    assert McpServer(url="http://x", api_key_variable="MCP_KEY").all_headers() == {
        "Authorization": "Bearer key-1234-of-a-server"
    }
    monkeypatch.setenv("TEAM", "header-value-55")
    server = McpServer(url="http://x", headers={"X-Team": "TEAM"})
    assert server.all_headers() == {"X-Team": "header-value-55"}
    monkeypatch.setenv("A_TOKEN", "token-5678-of-a-program")
    server = McpServer(command=["x"], variables=["A_TOKEN"])
    assert server.environment() == {"A_TOKEN": "token-5678-of-a-program"}
    told = repr(server) + redact("key-1234-of-a-server header-value-55 token-5678-of-a-program")
    assert not [each for each in ("key-1234", "header-value", "token-5678") if each in told]


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("NO_KEY", raising=False)
    for server in (
        McpServer(command=["x"], variables=["NO_KEY"]),
        McpServer(url="http://x", api_key_variable="NO_KEY"),
        McpServer(url="http://x", headers={"X-Team": "NO_KEY"}),
    ):
        with pytest.raises(ConfigurationError, match="environment variable"):
            server.check_variables()


def test_a_secret_in_place_of_a_variable_s_name_is_refused_unseen():
    with pytest.raises(ConfigurationError, match="of an environment") as refused:
        McpServer(url="http://x", headers={"Authorization": "Bearer abc-123"}).check_variables()
    assert "abc-123" not in str(refused.value)


def test_neither_the_password_nor_a_key_in_a_url_is_shown():
    server = McpServer(url="http://me:pass-word-99@x/mcp?api_key=query-key-77")
    assert "pass-word-99" not in server.where
    assert "query-key-77" not in server.where


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("dataenvgym.domains.tool_use.mcp.world.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"dataenvgym\[mcp\]"):
        require_mcp()
