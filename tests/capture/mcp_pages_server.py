"""A small MCP server for tests: over stdio when run, or over HTTP with `http <port>`."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("pages")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_page(page: int) -> dict[str, object]:
    """Read a page."""
    return {"page": page, "text": "250 mA", "canary": "canary-result"}


@server.tool(annotations=ToolAnnotations(read_only_hint=False))
def save_value(value: str) -> str:
    """Save a value."""
    return f"saved {value}"


@server.tool()
def search(query: str) -> list[str]:
    """Find nothing."""
    return []


@server.tool()
def fail(reason: str) -> str:
    """Fail."""
    raise ValueError(f"canary-error {reason}")


@server.tool()
async def wait(seconds: float) -> str:
    """Take a while."""
    import anyio

    await anyio.sleep(seconds)
    return "done"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        import uvicorn

        uvicorn.run(
            server.streamable_http_app(), port=int(sys.argv[2]), log_level="error", ws="none"
        )
    else:
        server.run("stdio")
