"""One server's life: start, serve many calls at once, notice its end, come back.

States: `starting` → `ready` ⇄ `reconnecting`; `failed` while it waits to try again after a failure to start.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Callable

import msgspec

from actors.upstream import handshake
from actors.upstream.beginning import Manner, begin
from actors.upstream.calling import Ask, Calls
from actors.upstream.conversation import Conversation
from actors.upstream.hiding import hider
from actors.upstream.kept import KeptServer
from actors.upstream.library_messages import Kind
from actors.upstream.link import Link
from actors.upstream.messages import CallResult, ServerState, ServerStateName, UpstreamDied, UpstreamUnavailable
from actors.upstream.opening import in_one_line, open_peer
from actors.upstream.pulse import Pulse
from actors.upstream.relisting import Relisting
from actors.upstream.resting import Resting
from actors.upstream.standing import Standing
from actors.upstream.stderr_log import StderrLog
from bus.errors import BusError, Busy, PeerUnavailable
from bus.log import Log
from bus.message import Blob
from bus.rpc import Answer, LeftAlone, NotSent, Rpc, SessionLost
from bus.tasks import end
from config.credentials import mask
from config.expand import expand_upstream
from config.place import Place
from config.schema_upstream import UpstreamSettings

STABLE_SECONDS = 30.0
"""A connection that lasted this long, or answered a call, is forgiven: its next reconnect is immediate."""
FIRST_LISTS_SECONDS = 0.8
"""How long lists wait for a server that is starting: it is announced when it has come."""


class Server:
    """The connection to one upstream server.

    Args:
        kept: what the last run knew of it, or `None`.
        place: where its process group is written down and its OAuth tokens are kept.
        max_bytes: largest answer accepted.
        on_change: called when its state or its tools have changed.
        on_rest: called when its breaker opens, with what people shall know.
        link: the clients behind it.
        capabilities: JSON of what those can be asked by the server.
        prefers_handshake: of the two eras, the older one is spoken if the server knows it.
        cwd: where it runs unless its settings say so; empty = the home directory.
        leaves: it is asked what it offers and ended again (the clients have processes of their own).
    """

    def __init__(
        self,
        name: str,
        settings: UpstreamSettings,
        *,
        kept: KeptServer | None,
        place: Place,
        max_bytes: int,
        log: Log,
        on_change: Callable[[], None],
        on_rest: Callable[[str], None],
        link: Link,
        capabilities: bytes = b"{}",
        prefers_handshake: bool = False,
        cwd: str = "",
        leaves: bool = False,
    ) -> None:
        self.name = name
        self.settings = settings
        self.tools: list[bytes] = [bytes(tool) for tool in kept.tools] if kept else []
        self.instructions = kept.instructions if kept else ""
        self.knows_tools = kept is not None
        self.probes = kept is None or kept.probes
        self.standing = Standing()
        self._place = place
        self._max_bytes = max_bytes
        self._log = log
        self._on_change = on_change
        self._link = link
        self._capabilities = capabilities
        self._prefers_handshake = prefers_handshake
        self._cwd = cwd
        self._leaves = leaves
        self._calls = Calls(name, shared=settings.session == "shared")
        self._resting = Resting(name, lambda: self.settings, on_rest)
        self._pulse = Pulse()
        self._hide: Callable[[str], str] = mask
        self._hurry = asyncio.Event()
        self._peer: Rpc | None = None
        self._ending: asyncio.Task[None] | None = None
        self._session: handshake.Session | None = None
        self._conversation: Conversation | None = None
        self._offers: dict[Kind, list[bytes]] = {}
        self._restarts = 0
        self._junk_before = 0
        self._stderr_before = 0
        self._forgiven = False
        self._relisting = Relisting(self._finds_other_tools)
        self._life = asyncio.get_running_loop().create_task(self._live(), name=f"upstream-{name}")

    @property
    def serves(self) -> bool:
        """Whether its clients can use it at this moment."""
        return self.conversation is not None or (self._leaves and self.state == "ready")

    @property
    def state(self) -> ServerStateName:
        return self.standing.state

    @property
    def settled(self) -> bool:
        """Whether it has answered, or failed to, at least once."""
        return self.state != "starting"

    @property
    def opening(self) -> bool:
        """Whether it is just being started for the first time, or made ready to be connected to."""
        return self._peer is None and not self.settled

    def describe(self, exposed: int) -> ServerState:
        peer, session, breaker = self._peer, self._session, self._resting.breaker
        return ServerState(
            name=self.name,
            prefix=self.settings.prefix,
            state=self.state,
            transport=self.settings.transport,
            error=self.standing.error,
            error_type=self.standing.error_type,
            since=self.standing.since,
            discovered=len(self.tools),
            exposed=exposed,
            restarts=self._restarts,
            in_flight=peer.in_flight if peer else 0,
            pid=peer.pid if peer else 0,
            junk_lines=self._junk_before + (peer.junk_lines if peer else 0),
            stderr_bytes=self._stderr_before + (peer.stderr_bytes if peer else 0),
            server_info=session.server_info if session else "",
            protocol_version=session.protocol_version if session else "",
            instructions=self.instructions,
            breaker=breaker.state,
            failures=breaker.failures,
            next_try_seconds=breaker.wait,
        )

    async def ask(self, ask: Ask) -> CallResult:
        """Sends a request; a read is sent again when the server went away under it, a write never.

        Raises:
            the errors of `actors.upstream.messages`.
        """
        probe = self._resting.begin()
        try:
            result = await self._ask(ask)
        except BaseException as error:
            self._resting.failed(error, ask, probe=probe)
            raise
        self._resting.answered()
        return result

    async def _ask(self, ask: Ask) -> CallResult:
        retries = 0
        while True:
            talk = self.conversation or await self._connected(ask.deadline)
            started = time.perf_counter()
            try:
                result, error = await self._calls.attempt(
                    talk.peer, talk.session.dialect, ask, self.settings.call_timeout_seconds
                )
            except PeerUnavailable as gone:
                if isinstance(gone, Busy) or (isinstance(gone, SessionLost) and not ask.read_only):
                    raise UpstreamUnavailable(f"upstream {self.name}: {gone.message}") from None
                if not ask.read_only and not isinstance(gone, NotSent):
                    what = f"upstream {self.name} went away while {ask.label} was running"
                    raise UpstreamDied(f"{what}; it may have taken effect, so it was not repeated") from None
                if retries >= self.settings.max_retries:
                    raise UpstreamDied(
                        f"upstream {self.name} went away {retries + 1} times while {ask.label} was running"
                    ) from None
                retries += 1
                continue
            self._forgiven = True
            self._pulse.heard = now = time.perf_counter()
            return CallResult(
                result=Blob(result) if result is not None else None,
                error=Blob(error) if error is not None else None,
                upstream_ms=(now - started) * 1000,
                retries=retries,
            )

    async def offered(self, kind: Kind, deadline: float, capabilities: bytes) -> list[bytes]:
        """The JSON of each entry that the server lists."""
        if self._leaves:
            return self._offers.get(kind, [])
        if self.state != "ready":
            loop = asyncio.get_running_loop()
            left = FIRST_LISTS_SECONDS - self.standing.age
            deadline = min(deadline, loop.time() + max(0.0, left))
        talk = await self._connected(deadline)
        entries, warnings = await talk.list(kind, self.settings.call_timeout_seconds, capabilities)
        self._warn(warnings)
        return entries

    async def follow(self, uri: str, *, begin: bool, alone: bool, deadline: float) -> CallResult:
        """Makes the server report changes of a resource, or no longer.

        Args:
            alone: nobody else has subscribed to it.
        """
        talk = await self._connected(deadline)
        if not alone:
            return CallResult(result=Blob(b"{}"))
        return await talk.follow(uri, begin=begin, timeout=deadline - asyncio.get_running_loop().time())

    @property
    def conversation(self) -> Conversation | None:
        """The open one, if there is one at this moment."""
        talk = self._conversation
        is_open = talk is not None and self.state == "ready" and not (talk.peer.closed.is_set() or talk.peer.deaf)
        return talk if is_open else None

    def take_tools(self, tools: list[bytes]) -> None:
        """The tools as another connection to the same server has listed them."""
        self.tools = tools
        self._on_change()

    def retry_now(self) -> None:
        """Ends the wait before the next attempt to connect, if there is one."""
        if self.state == "failed":
            self._hurry.set()

    async def stop(self) -> None:
        """Ends the server and everything it has started."""
        # Nobody shall wait for it to come back.
        self.standing.become("failed", error="it was stopped, since its configuration has changed; call again")
        await end((self._life, *self._relisting.stop()))
        if self._ending is not None:
            await self._ending

    async def _connected(self, deadline: float) -> Conversation:
        """The live connection, waiting for one that is starting or coming back."""
        loop = asyncio.get_running_loop()
        wait_until = min(deadline, loop.time() + self.settings.connect_timeout_seconds)
        while True:
            talk = self.conversation
            if talk is not None:
                return talk
            if self.state == "failed":
                raise UpstreamUnavailable(f"upstream {self.name} is not available: {self.standing.error}")
            try:
                async with asyncio.timeout_at(wait_until):
                    await self.standing.change()
            except TimeoutError:
                why = self.standing.error or "no answer yet"
                raise UpstreamUnavailable(f"upstream {self.name} is still {self.state} ({why})") from None

    async def _live(self) -> None:
        delay = 0.0
        while True:
            least = 0
            try:
                await self._connect_and_serve()
                delay = 0.0 if self._forgiven else self._next_delay(delay)
                why = self._pulse.verdict or (self._peer.end_text() if self._peer is not None else "")
                self._become("reconnecting", error=why, error_type="ConnectionClosed")
            except handshake.DiedOnProbe:
                self.probes, delay = False, 0.0
                self._log.info("upstream_died_on_probe", server=self.name)
                continue
            except (BusError, OSError, TimeoutError, msgspec.MsgspecError) as error:
                delay, least = self._next_delay(delay), error.seconds if isinstance(error, LeftAlone) else 0
                why = self._hide(in_one_line(error, self.settings))
                self._become("failed", error=why, error_type=type(error).__name__)
            except Exception as error:  # a fault of ours must not leave the server "starting" for ever
                delay, why = self._next_delay(delay), "an internal error; see `mms logs upstream`"
                self._become("failed", error=why, error_type=type(error).__name__)
                self._log.error("connection_failed", server=self.name, error=repr(error), exc_info=error)
            finally:
                await self._drop_peer()
            wait = max(least, delay * random.uniform(0.8, 1.2))  # noqa: S311 (spreads reconnects, no secret)
            told = {"state": self.state, "error": self.standing.error, "retry_in": round(wait, 2)}
            self._log.warning("upstream_down", server=self.name, **told)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), wait)
            self._hurry.clear()
            self._restarts += 1

    async def _connect_and_serve(self) -> None:
        """One connection from its start to its end."""
        settings = self.settings
        deadline = asyncio.get_running_loop().time() + settings.connect_timeout_seconds
        resolved = expand_upstream(self.name, settings, os.environ)
        self._hide = hider(resolved)
        peer = await open_peer(
            self.name,
            resolved,
            place=self._place,
            cwd=self._cwd,
            max_bytes=self._max_bytes,
            on_notification=self._on_notification,
            on_request=self._on_request,
            on_stderr=StderrLog(self._log, self.name, self._hide),
        )
        self._peer = peer
        begun = await begin(
            self.name,
            peer,
            self._link,
            Manner(self._capabilities, self.probes, self._prefers_handshake),
            seconds=settings.connect_timeout_seconds,
            deadline=deadline,
            everything=self._leaves,
            on_gap=self._relisting.soon,
        )
        talk = self._conversation = begun.talk
        session = self._session = talk.session
        self._offers = begun.offers
        self._warn(begun.warnings)
        self.probes = self.probes and not session.silent
        self.tools, self.instructions, self.knows_tools = begun.tools, session.instructions, True
        self._forgiven = False
        began = time.monotonic()
        self._become("ready")
        self._log.info("upstream_ready", server=self.name, tools=len(self.tools), version=session.protocol_version)
        if self._leaves:
            talk.announce()
            await self._drop_peer()
            await asyncio.Event().wait()
        talk.welcome()
        await self._pulse.watch(talk, settings.connect_timeout_seconds)
        self._forgiven = self._forgiven or time.monotonic() - began > STABLE_SECONDS

    async def _drop_peer(self) -> None:
        peer, self._peer = self._peer, None
        if self._conversation is not None:
            self._conversation.close()
            self._conversation = None
        if peer is not None:
            self._junk_before += peer.junk_lines
            self._stderr_before += peer.stderr_bytes
            # A stop in the middle of this must not leave half of what the server has started.
            self._ending = asyncio.get_running_loop().create_task(peer.close())
            await asyncio.shield(self._ending)

    def _become(self, state: ServerStateName, *, error: str = "", error_type: str = "") -> None:
        self.standing.become(state, error=error, error_type=error_type)
        self._on_change()

    def _next_delay(self, delay: float) -> float:
        first, most = self.settings.reconnect_delay_seconds, self.settings.max_reconnect_delay_seconds
        return min(max(first, delay * 2), most)

    def _warn(self, warnings: list[str]) -> None:
        for warning in warnings:
            self._log.warning("upstream_odd", server=self.name, warning=self._hide(warning))

    def _on_request(self, method: str, params: bytes) -> Answer:
        if method == "ping":
            return b"{}"
        return self._calls.asked(method, self._link.asked(self.name, method, params or b"{}"))

    def _on_notification(self, method: str, params: bytes) -> None:
        if method == "notifications/progress":
            self._calls.progressed(params)
        elif method == "notifications/tools/list_changed":
            self._relisting.soon()
        else:
            self._link.said(self.name, method, params or b"{}")

    async def relist(self) -> bool:
        """Asks for its tools again; false when it does not tell them."""
        talk = self.conversation
        if talk is None:
            return self.serves
        seconds = self.settings.connect_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                tools, warnings = await handshake.list_tools(talk.peer, seconds, talk.session.dialect)
        except (BusError, TimeoutError, msgspec.MsgspecError) as error:
            self._log.warning("upstream_relist_failed", server=self.name, error=self._hide(str(error)))
            return False
        self._warn(warnings)
        self.take_tools(tools)
        return True

    async def _finds_other_tools(self) -> bool:
        before = self.tools
        return await self.relist() and self.tools != before
