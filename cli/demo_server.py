"""A small MCP server over the files of one folder, for the demonstration: `python -P -m cli.demo_server FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)


def build(folder: Path) -> MCPServer:
    """A server whose tools see nothing outside `folder`."""
    server = MCPServer("files")

    def inside(path: str) -> Path:
        found = (folder / path).resolve()
        if not found.is_relative_to(folder) or not found.is_file():
            raise ValueError(f"there is no file {path} in the folder")
        return found

    @server.tool(annotations=READS, structured_output=False)
    def list_files() -> str:
        """The files of the folder with their sizes, one a line."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return "\n".join(f"{path.stat().st_size:>9}  {path.relative_to(folder)}" for path in files)

    @server.tool(annotations=READS, structured_output=False)
    def read_file(path: str) -> str:
        """The text of a file, given by its path in the folder."""
        return inside(path).read_text(encoding="utf-8", errors="replace")

    return server


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve()).run("stdio")
