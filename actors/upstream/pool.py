"""All servers of the configuration, and the one catalogue made of them."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from actors.upstream import kept
from actors.upstream.cache import Caching, caching
from actors.upstream.calling import Ask
from actors.upstream.connection import Server
from actors.upstream.dedicated import Dedicated
from actors.upstream.exposure import Discovered, expose, name_limit, tool_name
from actors.upstream.library_messages import Attend
from actors.upstream.messages import (
    CallResult,
    Catalogue,
    ServerState,
    ToolEntry,
    UpstreamError,
    UpstreamUnavailable,
    Withheld,
)
from actors.upstream.replacing import Replacements, same_connection
from actors.upstream.rules import rules_of
from actors.upstream.sensitive import is_sensitive
from actors.upstream.sessions import ClientSession, Sessions
from actors.upstream.tool_health import ToolHealth
from bus.log import Log
from config.place import Place
from config.policy import tool_policy
from config.schema import Settings
from config.schema_upstream import UpstreamSettings

FIRST_CATALOGUE_SECONDS = 0.8
"""How long a first `tools/list` without a kept copy waits for the servers."""
GONE_AFTER_SECONDS = 60.0
"""A server that is away longer than this loses its place in the catalogue until it is back."""
DEBOUNCE_SECONDS = 0.05
ANSWER_SECONDS = 0.05
"""Kept of a caller's deadline for telling it which server did not answer."""
EVERYTHING_ASKABLE = b'{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}'
"""Declared where a dedicated server is only asked for its tools: some hide those that need a capability."""


@dataclass(frozen=True)
class Tool:
    """Where a call goes, as the pool needs to know it."""

    server: Server
    read_only: bool
    writes: bool
    caching: Caching | None


class Pool:
    """Keeps the servers as the configuration says, and publishes the catalogue.

    Args:
        kept_path: file of the catalogue of the last run.
        place: where process groups are written down and OAuth tokens are kept.
        on_rest: called when a server's breaker opens, with its name and what people shall know.
    """

    def __init__(
        self, kept_path: Path, place: Place, client_server_name: str, log: Log, on_rest: Callable[[str, str], None]
    ) -> None:
        self._kept = kept.Kept(kept_path, log)
        self._place = place
        self._name_limit = name_limit(client_server_name)
        self._log = log
        self._on_rest = on_rest
        self._settings = Settings()
        self._health = ToolHealth(self._settings.proxy.exposure)
        self._replacements = Replacements()
        self.sessions = Sessions(log)
        self._dedicated = Dedicated(place, log)
        self._servers: dict[str, Server] = {}
        self._entries: dict[tuple[str, str], ToolEntry] = {}
        self._caching: dict[tuple[str, str], Caching | None] = {}
        self._published = asyncio.Event()
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self.config_error = ""
        self.catalogue = Catalogue(generation="")

    async def start(self, settings: Settings) -> None:
        """Reads the kept catalogue and starts every server, all at once."""
        await self._kept.open()
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(FIRST_CATALOGUE_SECONDS, self._publish)
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """Makes the servers those of `settings`: what is unchanged keeps its connection, and what has changed serves
        until its new connection works."""
        self._settings = settings
        self._health.settings = settings.proxy.exposure
        self._caching.clear()
        wanted = settings.proxy.upstream_servers if settings.proxy.enabled else {}
        wanted = {name: server for name, server in wanted.items() if server.enabled}
        for name in [name for name in self._servers if name not in wanted]:
            self._replacements.end(self._servers.pop(name))
        for name, server_settings in wanted.items():
            server = self._servers.get(name)
            if server is not None and same_connection(server.settings, server_settings):
                server.settings = server_settings
                self._replacements.drop(name)
            elif server is not None and server.serves:
                self._replacements.prepare(name, server_settings, self._start_server)
            else:
                if server is not None:
                    self._replacements.end(server)
                    self._health.forget(name)
                self._replacements.drop(name)
                self._servers[name] = self._start_server(name, server_settings)
        self._servers = {name: self._servers[name] for name in wanted}
        self._replacements.keep(set(wanted))
        self._health.keep(set(wanted))
        self._dedicated.keep(self._servers)
        self._changed()

    async def stop(self) -> None:
        for timer in (self._timer, self._deadline):
            if timer is not None:
                timer.cancel()
        servers = self._servers.values()
        await asyncio.gather(self._replacements.stop(), self._dedicated.stop(), *(server.stop() for server in servers))
        self._servers.clear()

    def find(self, server: str, tool: str) -> Tool:
        """Raises UpstreamUnavailable for a server that is not configured (any more)."""
        entry = self._entries.get((server, tool))
        found = self._server(server)
        if entry is None:  # nothing is known of it, so the most cautious is assumed
            return Tool(found, read_only=False, writes=False, caching=None)
        return Tool(found, entry.read_only, entry.writes, self.caching(server, tool))

    def newest(self, name: str) -> Server:
        """The server as it is configured now, also when an older connection still serves. Raises as `find`."""
        return self._replacements.find(name) or self._server(name)

    async def probe(self) -> None:
        """Looks after the tools that are withheld as unhealthy: those of a server that is well come back."""
        for name in self._health.due():
            server = self._servers.get(name)
            if self._health.probed(name, well=server is not None and await server.relist()):
                self._changed()

    def is_exposed(self, server: str, tool: str) -> bool:
        """Whether the tool is in the catalogue."""
        return (server, tool) in self._entries

    def caching(self, server: str, tool: str) -> Caching | None:
        """How the responses of a tool are cached now; `None` = not at all."""
        key = (server, tool)
        if key not in self._caching:
            entry = self._entries.get(key)
            self._caching[key] = None if entry is None else self._resolve_caching(entry)
        return self._caching[key]

    def names(self) -> list[str]:
        """The servers, in the order of the configuration."""
        return list(self._servers)

    def deadline(self, server: str, left: float | None) -> float:
        """Loop time at which a request must be over; `left` is what its caller still has, in seconds."""
        seconds = self._server(server).settings.overall_deadline_seconds if left is None else left - ANSWER_SECONDS
        return asyncio.get_running_loop().time() + seconds

    async def server_for(self, name: str, session: str, capabilities: bytes) -> Server:
        """The server that serves a session: the shared one, or its own.

        Raises:
            UpstreamUnavailable: not configured (any more); or its own, and its gateway does not attend.
        """
        server = self._server(name)
        if server.settings.session == "shared":
            return server
        client = await self.sessions.wait(session)
        limit = self._settings.proxy.max_upstream_bytes
        return self._dedicated.server(server, client, capabilities, limit, functools.partial(self._on_rest, name))

    def lister(self, name: str, session: str) -> Server:
        """The server whose lists a session sees. One of its own is not started for that."""
        server = self._server(name)
        return self._dedicated.find(name, session) or server

    async def call(self, name: str, session: str, ask: Ask) -> CallResult:
        """The same as `ask` for a call of the tool `ask.label`, whose failures count."""
        serial = self._health.begin(name)
        outcome: CallResult | UpstreamError | None = None
        try:
            outcome = result = await self.ask(name, session, ask)
            return result
        except UpstreamError as error:
            outcome = error
            raise
        finally:
            if self._health.end(name, ask.label, serial, outcome):
                self._log.warning("tool_unhealthy", server=name, tool=ask.label)
                self._changed()

    async def ask(self, name: str, session: str, ask: Ask) -> CallResult:
        """Takes a request to the server that serves the session. Errors as for `Server.ask`."""
        server = self._server(name)
        if server.settings.session == "dedicated":
            server = await self.server_for(name, session, ask.capabilities)
        client = self.sessions.get(session)
        if client is None:
            return await server.ask(ask)
        client.calls[name] = client.calls.get(name, 0) + 1
        try:
            return await server.ask(ask)
        finally:
            client.calls[name] -= 1

    def open(self, attend: Attend) -> ClientSession:
        """A gateway attends for one of its clients."""
        session = self.sessions.open(attend)
        if session.level:
            self.log_level_changed(session)
        for name in {server for server, _ in session.subscriptions}:
            server = self._servers.get(name)
            if server is not None and server.conversation is not None:
                server.conversation.follow_all()
        return session

    def close(self, session: ClientSession) -> None:
        """The client has left: what was its own ends."""
        self.sessions.close(session)
        self._dedicated.end(session.id)
        for name, uri in session.subscriptions:
            server = self._servers.get(name)
            talk = server.conversation if server is not None else None
            if talk is not None and uri not in self.sessions.subscribed(name):
                talk.unfollow(uri)

    def subscribed(self, server: Server, without: ClientSession) -> set[str]:
        """What others than one session have subscribed to at a server."""
        if server.settings.session == "dedicated":
            return set()
        return self.sessions.subscribed(server.name, without)

    def log_level_changed(self, session: ClientSession) -> None:
        for server in (*self._servers.values(), *self._dedicated.of(session.id)):
            if server.conversation is not None:
                server.conversation.set_log_level()

    def tell_own(self, session: str, method: str) -> None:
        """Passes a notification of a client on to the servers that are its own."""
        for server in self._dedicated.of(session):
            if server.conversation is not None:
                server.conversation.peer.notify(method)

    def _server(self, name: str) -> Server:
        found = self._servers.get(name)
        if found is None:
            raise UpstreamUnavailable(f"upstream {name} is not configured (any more); `mms list` shows the upstreams")
        return found

    async def first(self) -> Catalogue:
        """The catalogue, as soon as there is one worth showing."""
        await self._published.wait()
        return self.catalogue

    async def next(self, generation: str) -> Catalogue:
        """Waits for a catalogue of another generation."""
        while self.catalogue.generation == generation:
            await self._news.wait()
        return self.catalogue

    def snapshot(self) -> Catalogue:
        """The catalogue with the states of the servers at this moment."""
        return msgspec.structs.replace(self.catalogue, servers=self._states(), config_error=self.config_error)

    def _start_server(self, name: str, settings: UpstreamSettings) -> Server:
        dedicated = settings.session == "dedicated"
        return Server(
            name,
            settings,
            kept=self._kept.find(name, settings),
            place=self._place,
            max_bytes=self._settings.proxy.max_upstream_bytes,
            log=self._log,
            on_change=functools.partial(self._server_changed, name),
            on_rest=functools.partial(self._on_rest, name),
            link=self.sessions,
            capabilities=EVERYTHING_ASKABLE if dedicated else b"{}",
            leaves=dedicated,
        )

    def _server_changed(self, name: str) -> None:
        """Something happened to a server, or to what shall replace it."""
        coming = self._replacements.take(name)
        if coming is not None:
            self._log.info("upstream_replaced", server=name)
            self._replacements.retire(self._servers[name])
            self._servers[name] = coming
            self._health.forget(name)
            self._dedicated.keep(self._servers)
        self._changed()

    def _changed(self) -> None:
        """Something happened to a server: the catalogue follows, once for many changes at a time."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DEBOUNCE_SECONDS, self._rebuild)

    def _rebuild(self) -> None:
        self._timer = None
        entries, withheld = self._expose()
        self._entries = {(entry.server, entry.tool): entry for entry in entries}
        self._caching.clear()
        self.catalogue = Catalogue(
            generation=_generation(entries, self._servers),
            tools=tuple(entries),
            withheld=tuple(withheld),
            servers=self._states(entries),
            config_error=self.config_error,
        )
        self._news.set()
        self._news = asyncio.Event()
        if all(server.knows_tools or server.settled for server in self._servers.values()):
            self._publish()
        self._keep()

    def _resolve_caching(self, entry: ToolEntry) -> Caching | None:
        policy = tool_policy(self._settings, entry.server, entry.tool)
        annotations = self._settings.proxy.cache.tool_annotation_policy
        return caching(policy, annotations, read_only=entry.read_only, writes=entry.writes)

    def _publish(self) -> None:
        self._published.set()

    def _expose(self) -> tuple[list[ToolEntry], list[Withheld]]:
        discovered: list[Discovered] = []
        gone: list[Withheld] = []
        for server in self._servers.values():
            away = server.state in ("failed", "reconnecting") and time.time() - server.since > GONE_AFTER_SECONDS
            for raw in server.tools:
                if away:
                    detail = f"upstream {server.name} is down"
                    gone.append(Withheld(server=server.name, tool=tool_name(raw), reason="disconnected", detail=detail))
                else:
                    rules = rules_of(self._settings, self._health, server.name, tool_name(raw))
                    discovered.append(Discovered(server.name, server.settings.prefix, raw, rules))
            if server.state == "failed" and not away:
                self._look_again(server)
        entries, withheld = expose(discovered, self._name_limit)
        return entries, withheld + gone

    def _look_again(self, server: Server) -> None:
        """A server that stays away changes nothing that would announce itself; look when its time is over."""
        delay = GONE_AFTER_SECONDS - (time.time() - server.since) + 1
        asyncio.get_running_loop().call_later(delay, self._changed)

    def _states(self, entries: list[ToolEntry] | None = None) -> tuple[ServerState, ...]:
        counts: dict[str, int] = {}
        for entry in self.catalogue.tools if entries is None else entries:
            counts[entry.server] = counts.get(entry.server, 0) + 1
        disabled = tuple(
            ServerState(name=name, prefix=server.prefix, state="disabled", transport=server.transport)
            for name, server in self._settings.proxy.upstream_servers.items()
            if name not in self._servers
        )
        states = (server.describe(counts.get(name, 0)) for name, server in self._servers.items())
        return tuple(map(self._replacements.describe, states)) + disabled

    def _keep(self) -> None:
        """Writes the catalogue down for the next start, when it has changed; what carries a credential stays out."""
        servers = {
            name: kept.KeptServer(
                connection=kept.fingerprint(server.settings),
                tools=[msgspec.Raw(tool) for tool in server.tools if not is_sensitive(tool)],
                instructions=server.instructions,
                probes=server.probes,
            )
            for name, server in self._servers.items()
            if server.knows_tools
        }
        self._kept.update(servers)


def _generation(entries: list[ToolEntry], servers: dict[str, Server]) -> str:
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(entry.definition)
        digest.update(f"\0{entry.server}\0{entry.tool}\n".encode())
    for server in servers.values():
        digest.update(f"{server.name}\0{server.instructions}\n".encode())
    return digest.hexdigest()[:16]
