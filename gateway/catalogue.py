"""The catalogue as this gateway knows it: routing by table, and the bytes of `tools/list`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actors.upstream.messages import Catalogue, ServerState, ToolEntry, WatchCatalogue, Withheld
from bus import jsonrpc
from bus.client import Bus
from bus.errors import BusError

RETRY_SECONDS = 0.2
FIRST_SECONDS = 5.0
"""How long whoever needs the catalogue waits for the cluster to come up; the upstream actor bounds the rest."""


class CatalogueView:
    """Follows the catalogue of the upstream actor.

    Attributes:
        on_change: called when the advertised tools have changed after the first catalogue.
        graph_generation: of the tool-graph provider's answer that is in force; `None` without one.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.on_change: Callable[[], None] = lambda: None
        self._known = asyncio.Event()
        self._tools: dict[str, ToolEntry] = {}
        self.servers: tuple[ServerState, ...] = ()
        self.withheld: tuple[Withheld, ...] = ()
        self.generation = ""
        self.graph_generation: int | None = None
        self._listed = b""

    def find(self, name: str) -> ToolEntry | None:
        """The tool of an advertised name; names are looked up, never parsed."""
        return self._tools.get(name)

    def has(self, server: str, tool: str) -> bool:
        """Whether a server has a tool of its own of that name, shown or withheld."""
        shown = any((entry.server, entry.tool) == (server, tool) for entry in self._tools.values())
        return shown or any((entry.server, entry.tool) == (server, tool) for entry in self.withheld)

    def names(self) -> list[str]:
        return list(self._tools)

    async def known(self, seconds: float = FIRST_SECONDS) -> bool:
        """Waits for the first catalogue; false when it did not come in time."""
        try:
            await asyncio.wait_for(self._known.wait(), seconds)
        except TimeoutError:
            return False
        return True

    @property
    def penalties(self) -> dict[str, float]:
        """The demoted tools and the share of their rank that they lose."""
        return {name: tool.penalty for name, tool in self._tools.items() if tool.penalty}

    def listed(self) -> bytes:
        """The definitions of all upstream tools, comma-separated JSON objects."""
        return self._listed

    async def follow(self) -> None:
        """Keeps the view up to date until cancelled, over restarts of the actor."""
        while True:
            try:
                async for catalogue in self._bus.watch(WatchCatalogue()):
                    self._take(catalogue)
            except BusError:
                await asyncio.sleep(RETRY_SECONDS)

    def _take(self, catalogue: Catalogue) -> None:
        changed = catalogue.generation != self.generation
        first = not self._known.is_set()
        self.servers = catalogue.servers
        self.withheld = catalogue.withheld
        self.generation = catalogue.generation
        self.graph_generation = None if catalogue.toolgraph is None else catalogue.toolgraph.graph_generation
        self._tools = {tool.name: tool for tool in catalogue.tools}
        if changed:
            self._listed = b",".join(tool.definition for tool in catalogue.tools)
        self._known.set()
        if changed and not first:
            self.on_change()


def instructions(own: str, servers: tuple[ServerState, ...], limit: int) -> str:
    """Our lines, then what each upstream says about itself, `limit` code points in all."""
    parts = [own]
    left = limit - len(own)
    for server in servers:
        text = server.instructions.strip()
        if not text or left <= 0:
            continue
        part = f"\n\n[{server.prefix or server.name}] {text}"
        if len(part) > left:
            part = part[: max(0, left - 2)] + " …"
        parts.append(part)
        left -= len(part)
    return "".join(parts)


def tool_list(own: bytes, upstream: bytes) -> bytes:
    """The JSON array of `tools/list`."""
    return b"[" + b",".join(part for part in (upstream, own) if part) + b"]"


def definition(name: str, description: str, properties: dict[str, object], required: list[str]) -> bytes:
    """JSON of a tool of our own."""
    schema = {"type": "object", "properties": properties, "required": required}
    return jsonrpc.encode({"name": name, "description": description, "inputSchema": schema})
