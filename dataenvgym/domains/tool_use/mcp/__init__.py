"""The Model Context Protocol: a world's tools for any client, and any server's tools for a world.

server      a world as an MCP server, with one state per session, over stdio or streamable HTTP
client      one session with a server, for synchronous callers
world       McpServer: the server to take tools from; McpWorld: a world with its tools

It needs the extra [mcp], the official package, which is imported only when it is used.
"""

from dataenvgym.domains.tool_use.mcp.world import McpServer, McpWorld

__all__ = ["McpServer", "McpWorld"]
