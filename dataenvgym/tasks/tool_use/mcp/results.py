"""Converts results of an MCP server into text for a student."""

from __future__ import annotations

from mcp_types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic_core import to_json

from dataenvgym.secrets import redact
from dataenvgym.tasks.tool_use.world import CallResult


def read_result(result: CallToolResult) -> CallResult:
    """The blocks of a result, joined; without blocks, its structured content as JSON."""
    text = "\n".join(map(_text, result.content))
    if not text and result.structured_content is not None:
        text = to_json(result.structured_content).decode()
    text = redact(text)
    if not result.is_error:
        return CallResult(text)
    text = text or "Error: the tool failed"
    return CallResult(text, text)


def _text(block: ContentBlock) -> str:
    """A block as text; an image, a sound or a file is represented by its kind."""
    match block:
        case TextContent():
            return block.text
        case ResourceLink():
            return f"{block.name}: {block.uri}"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case EmbeddedResource():
            return f"[{block.resource.mime_type or 'file'} at {block.resource.uri}]"
    return f"[{block.mime_type}, {len(block.data) * 3 // 4} bytes]"
