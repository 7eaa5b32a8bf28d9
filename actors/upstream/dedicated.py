"""Servers of one client's own (`session: dedicated`): started at its first use of them, ended with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from actors.upstream.connection import Server
from actors.upstream.messages import OwnServers, ServerState
from actors.upstream.sessions import ClientSession, OwnLink, askable
from bus.log import Log
from config.place import Place


@dataclass
class _Own:
    server: Server
    pattern: Server


class Dedicated:
    """One server process per session and upstream.

    Args:
        place: where process groups are written down and OAuth tokens are kept.
    """

    def __init__(self, place: Place, log: Log) -> None:
        self._place = place
        self._log = log
        self._own: dict[tuple[str, str], _Own] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def server(
        self,
        pattern: Server,
        session: ClientSession,
        capabilities: bytes,
        max_bytes: int,
        on_rest: Callable[[str], None],
        *,
        prefers_handshake: bool,
    ) -> Server:
        """The session's own server.

        Args:
            pattern: the pool's entry of this upstream, which holds its settings and its tools.
            capabilities: JSON of what the client declares.
            on_rest, prefers_handshake: as for `Server`. Of all three, what comes with the first call counts.
        """
        key = (session.id, pattern.name)
        found = self._own.get(key)
        if found is not None and found.pattern is pattern:
            found.server.settings = pattern.settings
            return found.server
        if found is not None:
            self._end(found.server)
        declared = askable(capabilities)

        seen: list[bytes] | None = None

        def changed() -> None:
            """What comes and goes while it runs is advertised, or no longer, to everybody: the catalogue is one. What
            it lists first may be less than others do, for want of a capability of its client."""
            nonlocal seen
            if server.knows_tools:
                before, seen = seen, server.tools
                if before is not None and before != seen:
                    pattern.take_tools(_changed_alike(pattern.tools, before, seen))

        server = Server(
            pattern.name,
            pattern.settings,
            kept=None,
            place=self._place,
            max_bytes=max_bytes,
            log=self._log,
            on_change=changed,
            on_rest=on_rest,
            link=OwnLink(session, declared),
            capabilities=declared,
            prefers_handshake=prefers_handshake,
            cwd=session.cwd,
        )
        server.probes = pattern.probes
        self._own[key] = _Own(server, pattern)
        return server

    def find(self, name: str, session: str) -> Server | None:
        """The session's own server, if it has been started."""
        own = self._own.get((session, name))
        return own.server if own is not None else None

    def of(self, session: str) -> list[Server]:
        """What is running for a session."""
        return [own.server for (owner, _), own in self._own.items() if owner == session]

    def describe(self, state: ServerState) -> ServerState:
        """`state` with how the clients' own connections to that server do."""
        states = [own.server.describe(0) for (_, name), own in self._own.items() if name == state.name]
        if not states:
            return state
        down = sorted((one for one in states if one.state in ("failed", "reconnecting")), key=lambda one: one.since)
        resting = [one for one in states if one.breaker != "closed"]
        own = OwnServers(
            running=len(states),
            down=len(down),
            resting=len(resting),
            failures=max((one.failures for one in resting), default=0),
            next_try_seconds=min((one.next_try_seconds for one in resting), default=0.0),
            in_flight=sum(one.in_flight for one in states),
            error=down[-1].error if down else "",
            error_type=down[-1].error_type if down else "",
        )
        return msgspec.structs.replace(state, own=own)

    def end(self, session: str) -> None:
        """Ends the servers of a client that has left."""
        for key in [key for key in self._own if key[0] == session]:
            self._end(self._own.pop(key).server)

    def keep(self, patterns: dict[str, Server]) -> None:
        """Ends the servers whose upstream has changed or is gone."""
        for key, own in list(self._own.items()):
            if patterns.get(key[1]) is not own.pattern:
                self._end(self._own.pop(key).server)

    async def stop(self) -> None:
        for own in self._own.values():
            self._end(own.server)
        self._own.clear()
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _end(self, server: Server) -> None:
        task = asyncio.get_running_loop().create_task(server.stop())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _changed_alike(tools: list[bytes], before: list[bytes], after: list[bytes]) -> list[bytes]:
    """`tools` with the same ones gone and added as between `before` and `after`."""
    gone = set(before) - set(after)
    kept = [tool for tool in tools if tool not in gone]
    return kept + [tool for tool in after if tool not in before and tool not in kept]
