"""The Model Context Protocol: a world's tools for any client, and any server's tools for a world.

server      a world as an MCP server, with one state per session, over stdio or streamable HTTP
address     McpServer: the server to take tools from
client      one session with a server, for synchronous callers
world       McpWorld: a world whose tools are those of a server

It needs the extra [mcp], the official package, which is imported only when it is used.
"""

from dataenvgym.domains.tool_use.mcp.address import McpServer
from dataenvgym.domains.tool_use.mcp.world import McpWorld

__all__ = ["McpServer", "McpWorld"]
