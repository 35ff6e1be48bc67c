"""Results of an MCP server, as text for a student."""

import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")

import mcp_types as types

from dataenvgym.domains.tool_use.mcp.client import read_result
from dataenvgym.events import keep_secret


def result(*blocks, **fields):
    return types.CallToolResult(content=list(blocks), **fields)


def text(words):
    return types.TextContent(type="text", text=words)


def test_blocks_follow_one_another_and_what_is_not_text_is_named():
    inside = types.TextResourceContents(uri="a://b", text="inside")
    blob = types.BlobResourceContents(uri="a://c", blob="QUJD")
    read = read_result(
        result(
            text("one"),
            types.ImageContent(type="image", data="QUJDREVG", mime_type="image/png"),
            types.ResourceLink(type="resource_link", name="report", uri="file:///r.pdf"),
            *(types.EmbeddedResource(type="resource", resource=each) for each in (inside, blob)),
        )
    )
    assert read.content.splitlines() == [
        *("one", "[image/png, 6 bytes]", "report: file:///r.pdf", "inside", "[file at a://c]")
    ]


def test_structured_content_is_read_if_there_is_no_other():
    assert read_result(result(structured_content={"a": [1]})).content == '{"a":[1]}'
    assert read_result(result(text("x"), structured_content={"a": 1})).content == "x"
    assert read_result(result()).content == ""


def test_an_error_is_marked_a_secret_redacted_and_a_huge_result_cut():
    read = read_result(result(text("no such file"), is_error=True))
    assert (read.content, read.error) == ("no such file", "no such file")
    assert read_result(result(is_error=True)).error
    keep_secret("secret-of-the-server-1")
    assert "secret-of" not in read_result(result(text("key: secret-of-the-server-1"))).content
    for fields in ({}, {"is_error": True}):
        content = read_result(result(text("x" * 5_000_000), **fields)).content
        assert len(content) < 101_000
        assert content.endswith("[cut: these are 100,000 of 5,000,000 characters; ask for less]")
