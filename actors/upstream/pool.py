"""All servers of the configuration: which there are, how they are replaced, and which of them serves whom."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass

from actors.upstream.cache import Caching
from actors.upstream.calling import Ask
from actors.upstream.catalogue import CatalogueKeeper
from actors.upstream.connection import Server
from actors.upstream.dedicated import Dedicated
from actors.upstream.exposure import tool_name
from actors.upstream.library_messages import Attend
from actors.upstream.messages import (
    CallResult,
    ServerState,
    UpstreamError,
    UpstreamUnavailable,
)
from actors.upstream.replacing import Replacements, same_connection
from actors.upstream.sessions import ClientSession, Sessions
from bus import jsonrpc
from bus.log import Log
from config.place import Place
from config.schema import Settings
from config.schema_upstream import UpstreamSettings

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
    """Keeps the servers as the configuration says.

    Args:
        place: where process groups are written down, OAuth tokens and the last run's catalogue are kept.
        client_server_name: under which hosts know this gateway.
        on_rest: called when a server's breaker opens, with its name and what people shall know.

    Attributes:
        catalogue: what all of them offer together.
    """

    def __init__(self, place: Place, client_server_name: str, log: Log, on_rest: Callable[[str, str], None]) -> None:
        self._place = place
        self._log = log
        self._on_rest = on_rest
        self._settings = Settings()
        self._replacements = Replacements()
        self._servers: dict[str, Server] = {}
        self.catalogue = CatalogueKeeper(place, client_server_name, log, lambda: self._servers, self._completed)
        self.sessions = Sessions(log)
        self._dedicated = Dedicated(place, log)

    async def start(self, settings: Settings) -> None:
        """Reads the kept catalogue and starts every server, all at once."""
        await self.catalogue.open()
        self.apply(settings)
        self.catalogue.begin()

    def apply(self, settings: Settings) -> None:
        """Makes the servers those of `settings`: what is unchanged keeps its connection, and what has changed serves
        until its new connection works."""
        self._settings = settings
        self.catalogue.use(settings)
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
                    self.catalogue.health.forget(name)
                self._replacements.drop(name)
                self._servers[name] = self._start_server(name, server_settings)
        self._servers = {name: self._servers[name] for name in wanted}
        self._replacements.keep(set(wanted))
        self.catalogue.health.keep(set(wanted))
        self._dedicated.keep(self._servers)
        self.catalogue.changed()

    async def stop(self) -> None:
        servers = (server.stop() for server in self._servers.values())
        await asyncio.gather(self.catalogue.stop(), self._replacements.stop(), self._dedicated.stop(), *servers)
        self._servers.clear()

    def find(self, server: str, tool: str) -> Tool:
        """Raises UpstreamUnavailable for a server that is not configured (any more)."""
        entry = self.catalogue.find(server, tool)
        found = self._server(server)
        if entry is None:  # nothing is known of it, so the most cautious is assumed
            return Tool(found, read_only=False, writes=False, caching=None)
        return Tool(found, entry.read_only, entry.writes, self.catalogue.caching(server, tool))

    def newest(self, name: str) -> Server:
        """The server as it is configured now, also when an older connection still serves. Raises as `find`."""
        return self._replacements.find(name) or self._server(name)

    async def probe(self) -> None:
        """Looks after the tools that are withheld as unhealthy: those of a server that is well come back."""
        for name in self.catalogue.health.due():
            server = self._servers.get(name)
            if self.catalogue.health.probed(name, well=server is not None and await server.relist()):
                self.catalogue.changed()

    def names(self) -> list[str]:
        """The servers, in the order of the configuration."""
        return list(self._servers)

    def known(self) -> dict[str, set[str]]:
        """Every configured server, disabled ones included, with its tools as far as it has listed them."""
        known = {name: set[str]() for name in self._settings.proxy.upstream_servers}
        return known | {name: {tool_name(raw) for raw in server.tools} for name, server in self._servers.items()}

    def deadline(self, server: str, left: float | None) -> float:
        """Loop time at which a request must be over; `left` is what its caller still has, in seconds."""
        seconds = self._server(server).settings.overall_deadline_seconds if left is None else left - ANSWER_SECONDS
        return asyncio.get_running_loop().time() + seconds

    async def server_for(self, name: str, session: str, capabilities: bytes, *, handshake: bool) -> Server:
        """The server that serves a session: the shared one, or its own.

        Raises:
            UpstreamUnavailable: not configured (any more); or its own, and its gateway does not attend.
        """
        server = self._server(name)
        if server.settings.session == "shared":
            return server
        client = await self.sessions.wait(session)
        limit = self._settings.proxy.max_upstream_bytes
        on_rest = functools.partial(self._on_rest, name)
        return self._dedicated.server(server, client, capabilities, limit, on_rest, prefers_handshake=handshake)

    def lister(self, name: str, session: str) -> Server:
        """The server whose lists a session sees. One of its own is not started for that."""
        server = self._server(name)
        return self._dedicated.find(name, session) or server

    async def call(self, name: str, session: str, ask: Ask) -> CallResult:
        """The same as `ask` for a call of the tool `ask.label`, whose failures count."""
        serial = self.catalogue.health.begin(name)
        outcome: CallResult | UpstreamError | None = None
        try:
            outcome = result = await self.ask(name, session, ask)
            return result
        except UpstreamError as error:
            outcome = error
            raise
        finally:
            if self.catalogue.health.end(name, ask.label, serial, outcome):
                self._log.warning("tool_unhealthy", server=name, tool=ask.label)
                self.catalogue.changed()

    async def ask(self, name: str, session: str, ask: Ask) -> CallResult:
        """Takes a request to the server that serves the session. Errors as for `Server.ask`."""
        server = self._server(name)
        if server.settings.session == "dedicated":
            server = await self.server_for(name, session, ask.capabilities, handshake=ask.handshake)
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

    def client_progressed(self, session: str, number: int, params: bytes) -> None:
        """Tells a server of a client's own how the client gets on with its request."""
        client = self.sessions.get(session)
        asker = client.asker(number) if client is not None else None
        server = self._dedicated.find(asker.server, session) if asker is not None else None
        if asker is not None and server is not None and server.conversation is not None:
            params = jsonrpc.encode({"progressToken": asker.token, **jsonrpc.members(params)})
            server.conversation.peer.notify("notifications/progress", params)

    def _server(self, name: str) -> Server:
        found = self._servers.get(name)
        if found is None:
            raise UpstreamUnavailable(f"upstream {name} is not configured (any more); `mms list` shows the upstreams")
        return found

    def _start_server(self, name: str, settings: UpstreamSettings) -> Server:
        dedicated = settings.session == "dedicated"
        return Server(
            name,
            settings,
            kept=self.catalogue.find_kept(name, settings),
            place=self._place,
            max_bytes=self._settings.proxy.max_upstream_bytes,
            log=self._log,
            on_change=functools.partial(self._server_changed, name),
            on_rest=functools.partial(self._on_rest, name),
            link=self.sessions,
            capabilities=EVERYTHING_ASKABLE if dedicated else b"{}",
            leaves=dedicated,
        )

    def _completed(self, state: ServerState) -> ServerState:
        """A server's state with what else is known of its connections."""
        return self._dedicated.describe(self._replacements.describe(state))

    def _server_changed(self, name: str) -> None:
        """Something happened to a server, or to what shall replace it."""
        coming = self._replacements.take(name)
        if coming is not None:
            self._log.info("upstream_replaced", server=name)
            self._replacements.retire(self._servers[name])
            self._servers[name] = coming
            self.catalogue.health.forget(name)
            self._dedicated.keep(self._servers)
        self.catalogue.changed()
