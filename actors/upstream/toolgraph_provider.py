"""The connection to a tool-graph provider: a child in a process group of its own, started at the first question."""

from __future__ import annotations

import asyncio
import os

import msgspec

from actors.upstream import handshake, toolgraph
from actors.upstream.hiding import hider
from actors.upstream.opening import in_one_line, open_peer
from actors.upstream.stderr_log import StderrLog
from actors.upstream.toolgraph import Answer, ProviderError
from bus.errors import BusError, ConfigError, DeadlineExceeded, PeerUnavailable
from bus.log import Log
from bus.rpc import Rpc, RpcError
from config.expand import expand_upstream
from config.place import Place
from config.schema_proxy import ToolgraphSettings
from config.schema_upstream import UpstreamSettings

NAME = "toolgraph"
MAX_ANSWER_BYTES = 8 * 1024 * 1024
NO_BUNDLES = "toolgraph.source is bundle, and bundle files are not read here; set it to stdio, or enabled to false"


class Provider:
    """One provider; `ask` it one question at a time.

    Args:
        place: where its process group is written down.

    Attributes:
        settings: those in force; what concerns the connection counts from its next start on.
    """

    def __init__(self, settings: ToolgraphSettings, place: Place, log: Log) -> None:
        self.settings = settings
        self._place = place
        self._log = log
        self._peer: Rpc | None = None
        self._session: handshake.Session | None = None
        self._probes = True
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int:
        """Its process; 0 while there is none."""
        peer = self._peer
        return peer.pid if peer is not None and not peer.closed.is_set() else 0

    async def ask(self, candidates: list[str]) -> Answer:
        """What it says about all candidates, within `timeout_seconds`. It is started when it does not run, and ended
        when it does not answer.

        Raises:
            ProviderError.
        """
        if self.settings.source != "stdio":
            raise ProviderError("protocol_error", NO_BUNDLES)
        seconds = self.settings.timeout_seconds
        try:
            try:
                return await self._ask(candidates, seconds)
            except handshake.DiedOnProbe:
                self._probes = False
                self._drop()
                return await self._ask(candidates, seconds)
        except (TimeoutError, DeadlineExceeded):
            self._drop()
            raise ProviderError("unreachable", f"the provider did not answer within {seconds:g} s") from None
        except RpcError as error:
            raise ProviderError("protocol_error", f"the provider refused {toolgraph.TOOL}{_code(error)}") from None
        except (PeerUnavailable, ConfigError, OSError) as error:
            why = self._end_text() if isinstance(error, PeerUnavailable) else in_one_line(error, self._as_upstream())
            self._drop()
            raise ProviderError("unreachable", f"the provider cannot be asked: {why}") from None
        except msgspec.MsgspecError as error:
            self._drop()
            raise ProviderError("protocol_error", f"the provider answered in another shape: {error}") from None
        except ProviderError:
            raise
        except BusError as error:  # an answer that is too long, say
            raise ProviderError("protocol_error", error.message) from None

    async def close(self) -> None:
        """Ends it and everything that it has started."""
        self._drop()
        await asyncio.gather(*self._ending)

    def _drop(self) -> None:
        """Begins to end it; nobody who waits for a verdict waits for that."""
        peer, self._peer, self._session = self._peer, None, None
        if peer is not None:
            task = asyncio.get_running_loop().create_task(peer.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _ask(self, candidates: list[str], seconds: float) -> Answer:
        # Its start is not bounded: broken off in the middle, it would leave a process that nobody knows.
        peer = self._peer
        if peer is None or peer.closed.is_set() or self._session is None:
            self._drop()
            peer = self._peer = await self._start()
        async with asyncio.timeout(seconds):
            session = self._session = self._session or await self._open_session(peer, seconds)
            params = session.dialect.params(toolgraph.question(self.settings, candidates))
            result = await peer.request("tools/call", params, timeout=seconds)
        return toolgraph.read(result, candidates, self.settings.agent_id)

    async def _start(self) -> Rpc:
        settings = expand_upstream(NAME, self._as_upstream(), os.environ)
        return await open_peer(
            NAME,
            settings,
            place=self._place,
            cwd="",
            max_bytes=MAX_ANSWER_BYTES,
            on_notification=lambda _method, _params: None,
            on_request=lambda method, _params: b"{}" if method == "ping" else None,
            on_stderr=StderrLog(self._log, NAME, hider(settings)),
        )

    async def _open_session(self, peer: Rpc, seconds: float) -> handshake.Session:
        session = await handshake.open_session(peer, seconds, probe=self._probes)
        self._probes = self._probes and not session.silent
        self._log.info("toolgraph_connected", version=session.protocol_version, server=session.server_info)
        return session

    def _as_upstream(self) -> UpstreamSettings:
        settings = self.settings
        return UpstreamSettings(prefix=NAME, command=settings.command, args=settings.args, env=settings.env)

    def _end_text(self) -> str:
        return self._peer.end_text() if self._peer is not None else "it could not be started"


class _Error(msgspec.Struct):
    code: int


def _code(error: RpcError) -> str:
    """The code of the provider's error, for people; its text is its own and may hold anything."""
    try:
        return f" (error {msgspec.json.decode(error.raw, type=_Error).code})"
    except msgspec.MsgspecError:
        return ""
