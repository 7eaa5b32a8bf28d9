"""Tools as people name them: like clients (`fs__read_file`), like statistics (`filesystem__read_file`), or bare."""

from __future__ import annotations

from collections.abc import Mapping

from config.load import load_settings
from config.place import Place
from config.schema_upstream import UpstreamSettings

HELP = "as `mms tools` shows it, server__tool, or its own name"


def recorded(place: Place, tool: str) -> str:
    """The name under which statistics know a tool: `server__tool` for an advertised one, any other as it is."""
    server, own = split(load_settings(place).settings.proxy.upstream_servers, tool)
    return f"{server}__{own}" if server else own


def split(servers: Mapping[str, UpstreamSettings], tool: str) -> tuple[str, str]:
    """Server and its own tool name; the server is empty when the name begins with none.

    A server's name counts before another one's prefix, the longer of two before the shorter.
    """
    starts = [(name, name) for name in servers]
    starts.sort(key=lambda pair: -len(pair[0]))
    starts += sorted(((entry.prefix, name) for name, entry in servers.items()), key=lambda pair: -len(pair[0]))
    for start, name in starts:
        if start and tool.startswith(f"{start}__"):
            return name, tool.removeprefix(f"{start}__")
    return "", tool
