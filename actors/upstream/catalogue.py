"""The one catalogue made of all servers: built anew when something happens to one, published when it differs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable

import msgspec

from actors.upstream import kept
from actors.upstream.cache import Caching, caching
from actors.upstream.connection import Server
from actors.upstream.eligibility import Eligibility
from actors.upstream.exposure import Discovered, expose, name_limit, tool_name
from actors.upstream.messages import Catalogue, ServerState, ToolEntry, Withheld
from actors.upstream.rules import rules_of
from actors.upstream.sensitive import is_sensitive
from actors.upstream.starting import Silent, until_quiet
from actors.upstream.tool_health import ToolHealth
from bus.log import Log
from bus.tasks import end
from config.place import Place
from config.policy import tool_policy
from config.schema import Settings
from config.schema_upstream import UpstreamSettings

GONE_AFTER_SECONDS = 60.0
"""A server that is away longer than this loses its place in the catalogue until it is back."""
GONE_MARGIN_SECONDS = 0.1
DEBOUNCE_SECONDS = 0.05


class CatalogueKeeper:
    """Builds the catalogue, publishes it, and keeps it for the next start.

    Args:
        place: whose state directory holds the kept copies.
        client_server_name: under which hosts know this gateway; it takes room from the tools' names.
        servers: the servers by name, in the order of the configuration.
        complete: adds to the state of a server what only its owner knows.

    Attributes:
        settings: those in force.
        health: which tools only fail.
        config_error: what people must know of a configuration that cannot be used.
        current: the newest catalogue.
    """

    def __init__(
        self,
        place: Place,
        client_server_name: str,
        log: Log,
        servers: Callable[[], dict[str, Server]],
        complete: Callable[[ServerState], ServerState],
    ) -> None:
        self.settings = Settings()
        self.health = ToolHealth(self.settings.proxy.exposure)
        self.config_error = ""
        self.current = Catalogue(generation="")
        self._kept = kept.Kept(place.state / "catalogue.json", log)
        self._eligibility = Eligibility(place.state / "toolgraph.json", place, log, self.changed)
        self._name_limit = name_limit(client_server_name)
        self._servers = servers
        self._complete = complete
        self._entries: dict[tuple[str, str], ToolEntry] = {}
        self._caching: dict[tuple[str, str], Caching | None] = {}
        self._published = asyncio.Event()
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._gone_timer: asyncio.TimerHandle | None = None
        self._stopped = False
        self._starting: asyncio.Task[None] | None = None
        self._quiet = False

    async def open(self) -> None:
        """Reads what the last run has kept."""
        await asyncio.gather(self._kept.open(), self._eligibility.open())

    def begin(self) -> None:
        """The servers have been started: publishes the first catalogue when it is worth showing (`starting`)."""
        self._starting = asyncio.get_running_loop().create_task(self._publish_first(), name="first-catalogue")

    async def stop(self) -> None:
        self._stopped = True
        for timer in (self._timer, self._gone_timer):
            if timer is not None:
                timer.cancel()
        if self._starting is not None:
            await end((self._starting,))
        await asyncio.gather(self._eligibility.stop(), self._kept.close())

    def use(self, settings: Settings) -> None:
        """Takes over changed settings."""
        self.settings = settings
        self.health.settings = settings.proxy.exposure
        self._caching.clear()
        self._eligibility.use(settings.proxy.toolgraph)

    def find_kept(self, name: str, settings: UpstreamSettings) -> kept.KeptServer | None:
        """What the last run knew of a server, if it was reached in this very way."""
        return self._kept.find(name, settings)

    def find(self, server: str, tool: str) -> ToolEntry | None:
        return self._entries.get((server, tool))

    def exposes(self, server: str, tool: str) -> bool:
        """Whether the tool is in the catalogue."""
        return (server, tool) in self._entries

    def caching(self, server: str, tool: str) -> Caching | None:
        """How the responses of a tool are cached now; `None` = not at all."""
        key = (server, tool)
        if key not in self._caching:
            entry = self._entries.get(key)
            self._caching[key] = None if entry is None else self._resolve_caching(entry)
        return self._caching[key]

    def changed(self) -> None:
        """Something happened: the catalogue follows, once for many changes at a time."""
        if self._timer is None and not self._stopped:
            self._timer = asyncio.get_running_loop().call_later(DEBOUNCE_SECONDS, self._rebuild)

    async def first(self) -> Catalogue:
        """The catalogue, as soon as there is one worth showing."""
        await self._published.wait()
        return self.current

    async def next(self, known: Catalogue) -> Catalogue:
        """Waits for a catalogue that tells something else of the tools than `known` does."""
        while _told(self.current) == _told(known):
            await self._news.wait()
        return self.current

    def snapshot(self) -> Catalogue:
        """The catalogue with the states of the servers at this moment, and the tools that go with them."""
        if self._timer is not None:
            self._rebuild()
        return msgspec.structs.replace(
            self.current,
            servers=self._states(self.current.tools),
            config_error=self.config_error,
            toolgraph=self._eligibility.describe(),
        )

    async def _publish_first(self) -> None:
        await until_quiet(self._silent_servers)
        self._quiet = True
        self._rebuild()
        await until_quiet(self._silent_provider)
        self._rebuild()
        self._published.set()

    def _silent_servers(self) -> dict[str, Silent]:
        waiting = (server for server in self._servers().values() if not (server.knows_tools or server.settled))
        return {server.name: Silent(server.describe(0).pid, server.opening) for server in waiting}

    def _silent_provider(self) -> dict[str, Silent]:
        eligibility = self._eligibility
        return {"toolgraph": Silent(eligibility.pid, not eligibility.pid)} if eligibility.keeps_waiting else {}

    def _rebuild(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._quiet:  # at the start the provider is asked once, about all servers
            self._eligibility.consider(
                (server.name, tool_name(raw), raw) for server in self._servers().values() for raw in server.tools
            )
        entries, withheld = self._expose()
        self._entries = {(entry.server, entry.tool): entry for entry in entries}
        self._caching.clear()
        self.current = Catalogue(
            generation=_generation(entries, self._servers().values()),
            tools=tuple(entries),
            withheld=tuple(withheld),
            servers=self._states(entries),
            config_error=self.config_error,
            toolgraph=self._eligibility.describe(),
        )
        self._news.set()
        self._news = asyncio.Event()
        self._keep()

    def _expose(self) -> tuple[list[ToolEntry], list[Withheld]]:
        discovered: list[Discovered] = []
        gone: list[Withheld] = []
        soon: list[float] = []
        for server in self._servers().values():
            away = server.standing.away_seconds
            for raw in server.tools:
                tool = tool_name(raw)
                if away > GONE_AFTER_SECONDS:
                    detail = f"upstream {server.name} is down"
                    gone.append(Withheld(server=server.name, tool=tool, reason="disconnected", detail=detail))
                else:
                    ruling = self._eligibility.rule(server.name, tool)
                    rules = rules_of(self.settings, self.health, ruling, server.name, tool)
                    discovered.append(Discovered(server.name, server.settings.prefix, raw, rules))
            if 0 < away <= GONE_AFTER_SECONDS:
                soon.append(GONE_AFTER_SECONDS - away)
        self._look_again(soon)
        entries, withheld = expose(discovered, self._name_limit)
        return entries, withheld + gone

    def _look_again(self, soon: list[float]) -> None:
        """A server that stays away changes nothing that would announce itself; look when the first one's time is over.

        Args:
            soon: seconds until then, of each that is away.
        """
        if self._gone_timer is not None:
            self._gone_timer.cancel()
        self._gone_timer = None
        if soon and not self._stopped:
            delay = min(soon) + GONE_MARGIN_SECONDS
            self._gone_timer = asyncio.get_running_loop().call_later(delay, self.changed)

    def _states(self, entries: Iterable[ToolEntry]) -> tuple[ServerState, ...]:
        counts: dict[str, int] = {}
        for entry in entries:
            counts[entry.server] = counts.get(entry.server, 0) + 1
        servers = self._servers()
        disabled = tuple(
            ServerState(name=name, prefix=server.prefix, state="disabled", transport=server.transport)
            for name, server in self.settings.proxy.upstream_servers.items()
            if name not in servers
        )
        states = (server.describe(counts.get(name, 0)) for name, server in servers.items())
        return tuple(map(self._complete, states)) + disabled

    def _resolve_caching(self, entry: ToolEntry) -> Caching | None:
        policy = tool_policy(self.settings, entry.server, entry.tool)
        annotations = self.settings.proxy.cache.tool_annotation_policy
        return caching(policy, annotations, read_only=entry.read_only, writes=entry.writes)

    def _keep(self) -> None:
        """Writes the catalogue down for the next start, when it has changed; what carries a credential stays out."""
        servers = {
            name: kept.KeptServer(
                connection=kept.fingerprint(server.settings),
                tools=[msgspec.Raw(tool) for tool in server.tools if not is_sensitive(tool)],
                instructions=server.instructions,
                probes=server.probes,
            )
            for name, server in self._servers().items()
            if server.knows_tools
        }
        self._kept.update(servers)


def _told(catalogue: Catalogue) -> tuple[object, ...]:
    """What clients are told again when it changes. States of servers are asked for where they are wanted."""
    graph = catalogue.toolgraph.graph_generation if catalogue.toolgraph is not None else None
    withheld = {(tool.server, tool.tool, tool.reason) for tool in catalogue.withheld}
    demoted = {(tool.name, tool.flagged, tool.penalty) for tool in catalogue.tools if tool.flagged}
    return catalogue.generation, graph, withheld, demoted


def _generation(entries: Iterable[ToolEntry], servers: Iterable[Server]) -> str:
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(entry.definition)
        digest.update(f"\0{entry.server}\0{entry.tool}\n".encode())
    for server in servers:
        digest.update(f"{server.name}\0{server.instructions}\n".encode())
    return digest.hexdigest()[:16]
