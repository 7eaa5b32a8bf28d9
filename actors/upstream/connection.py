"""One server's life: start, serve many calls at once, notice its end, come back.

States: `starting` → `ready` ⇄ `reconnecting`; `failed` while it waits to try again after a failure to start.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from actors.upstream import handshake
from actors.upstream.calling import Ask, Calls
from actors.upstream.kept import KeptServer
from actors.upstream.library_messages import Kind
from actors.upstream.link import Link
from actors.upstream.listening import Listening
from actors.upstream.messages import CallResult, ServerState, ServerStateName, UpstreamDied, UpstreamUnavailable
from actors.upstream.stderr_log import StderrLog
from bus import jsonrpc
from bus.child import environment
from bus.errors import BusError, Busy, ConfigError, PeerUnavailable
from bus.log import Log
from bus.message import Blob
from bus.rpc import Answer, Rpc
from bus.rpc_peer import RpcPeer
from config.expand import expand_upstream
from config.place import Place
from config.schema_upstream import UpstreamSettings

STABLE_SECONDS = 30.0
"""A connection that lasted this long, or answered a call, is forgiven: its next reconnect is immediate."""
LIST_CHANGED_DEBOUNCE_SECONDS = 0.1
LISTS: dict[Kind, tuple[str, str, str]] = {
    "resources": ("resources/list", "resources", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates", "resources"),
    "prompts": ("prompts/list", "prompts", "prompts"),
}
"""Method, member of its result, and the capability that promises it."""


class Server:
    """The connection to one upstream server.

    Args:
        kept: what the last run knew of it, or `None`.
        place: where its process group is written down and its OAuth tokens are kept.
        max_bytes: largest answer accepted.
        on_change: called when its state or its tools have changed.
        link: the clients behind it.
        capabilities: JSON of what those can be asked by the server.
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
        link: Link,
        capabilities: bytes = b"{}",
        cwd: str = "",
        leaves: bool = False,
    ) -> None:
        self.name = name
        self.settings = settings
        self.tools: list[bytes] = [bytes(tool) for tool in kept.tools] if kept else []
        self.instructions = kept.instructions if kept else ""
        self.knows_tools = kept is not None
        self.probes = kept is None or kept.probes
        self.state: ServerStateName = "starting"
        self.since = time.time()
        self._place = place
        self._max_bytes = max_bytes
        self._log = log
        self._on_change = on_change
        self._link = link
        self._capabilities = capabilities
        self._cwd = cwd
        self._leaves = leaves
        self._calls = Calls(name)
        self._listening: Listening | None = None
        self._changed = asyncio.Event()
        self._peer: Rpc | None = None
        self._session: handshake.Session | None = None
        self._error = ""
        self._error_type = ""
        self._restarts = 0
        self._junk_before = 0
        self._stderr_before = 0
        self._forgiven = False
        self._relist: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._life = asyncio.get_running_loop().create_task(self._live(), name=f"upstream-{name}")

    @property
    def settled(self) -> bool:
        """Whether it has answered, or failed to, at least once."""
        return self.state != "starting"

    def describe(self, exposed: int) -> ServerState:
        peer, session = self._peer, self._session
        return ServerState(
            name=self.name,
            prefix=self.settings.prefix,
            state=self.state,
            transport=self.settings.transport,
            error=self._error,
            error_type=self._error_type,
            since=self.since,
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
        )

    async def ask(self, ask: Ask) -> CallResult:
        """Sends a request; a read is sent again when the server went away under it, a write never.

        Raises:
            the errors of `actors.upstream.messages`.
        """
        retries = 0
        while True:
            peer, session = await self._connected(ask.deadline)
            started = time.perf_counter()
            try:
                result, error = await self._calls.attempt(
                    peer, session.dialect, ask, self.settings.call_timeout_seconds
                )
            except PeerUnavailable as gone:
                if isinstance(gone, Busy):
                    raise UpstreamUnavailable(f"upstream {self.name}: {gone.message}") from None
                if not ask.read_only:
                    what = f"upstream {self.name} went away while {ask.label} was running"
                    raise UpstreamDied(f"{what}; it may have taken effect, so it was not repeated") from None
                if retries >= self.settings.max_retries:
                    raise UpstreamDied(
                        f"upstream {self.name} went away {retries + 1} times while {ask.label} was running"
                    ) from None
                retries += 1
                continue
            self._forgiven = True
            return CallResult(
                result=Blob(result) if result is not None else None,
                error=Blob(error) if error is not None else None,
                upstream_ms=(time.perf_counter() - started) * 1000,
                retries=retries,
            )

    async def offered(self, kind: Kind, deadline: float, capabilities: bytes) -> list[bytes]:
        """The JSON of each entry that the server lists; nothing when it does not promise any."""
        peer, session = await self._connected(deadline)
        method, key, feature = LISTS[kind]
        if not session.offers(feature):
            return []
        left = deadline - asyncio.get_running_loop().time()
        entries, warnings = await handshake.list_pages(peer, method, key, left, session.dialect, capabilities)
        self._warn(warnings)
        return entries

    async def follow(self, uri: str, *, begin: bool, alone: bool, deadline: float) -> CallResult:
        """Makes the server report changes of a resource, or no longer.

        Args:
            alone: nobody else has subscribed to it.
        """
        _, session = await self._connected(deadline)
        if not alone:
            return CallResult(result=Blob(b"{}"))
        if self._listening is not None:
            self._listening.renew()
            return CallResult(result=Blob(b"{}"))
        if not session.offers("resources", "subscribe"):
            what = f"upstream {self.name} does not report changes of its resources"
            return CallResult(error=Blob(jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, what)))
        method = "resources/subscribe" if begin else "resources/unsubscribe"
        return await self.ask(Ask(method, jsonrpc.encode({"uri": uri}), method, True, deadline))

    def unfollow(self, uri: str) -> None:
        """Nobody wants to hear of a resource any more."""
        if self.state == "ready" and self._session is not None:
            if self._listening is not None:
                self._listening.renew()
            elif self._session.offers("resources", "subscribe"):
                self._start("resources/unsubscribe", {"uri": uri})

    def set_log_level(self) -> None:
        """Tells a server of the handshake era what its clients want to be told; requests of the other era say it."""
        level, session = self._link.log_level(), self._session
        if level and session is not None and session.offers("logging") and not session.dialect.stateless:
            self._start("logging/setLevel", {"level": level})

    def take_tools(self, tools: list[bytes]) -> None:
        """The tools as another connection to the same server has listed them."""
        self.tools = tools
        self._on_change()

    def tell(self, method: str) -> None:
        """Passes a notification of the client on, if there is a server to take it."""
        if self.state == "ready" and self._peer is not None and not self._peer.closed.is_set():
            self._peer.notify(method)

    async def stop(self) -> None:
        """Ends the server and everything it has started."""
        self._life.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(self._life, *self._tasks, return_exceptions=True)
        if self._relist is not None:
            self._relist.cancel()

    async def _connected(self, deadline: float) -> tuple[Rpc, handshake.Session]:
        """The live connection, waiting for one that is starting or coming back."""
        loop = asyncio.get_running_loop()
        wait_until = min(deadline, loop.time() + self.settings.connect_timeout_seconds)
        while True:
            peer, session = self._peer, self._session
            if peer is not None and session is not None and self.state == "ready" and not peer.closed.is_set():
                return peer, session
            if self.state == "failed":
                raise UpstreamUnavailable(f"upstream {self.name} is not available: {self._error}")
            try:
                async with asyncio.timeout_at(wait_until):
                    await self._changed.wait()
            except TimeoutError:
                why = self._error or "no answer yet"
                raise UpstreamUnavailable(f"upstream {self.name} is still {self.state} ({why})") from None

    async def _live(self) -> None:
        delay = 0.0
        while True:
            try:
                await self._connect_and_serve()
                delay = 0.0 if self._forgiven else self._next_delay(delay)
                self._become("reconnecting", error=self._end_text(), error_type="ConnectionClosed")
            except handshake.DiedOnProbe:
                self.probes, delay = False, 0.0
                self._log.info("upstream_died_on_probe", server=self.name)
                await self._drop_peer()
                continue
            except (BusError, OSError, TimeoutError, msgspec.MsgspecError) as error:
                delay = self._next_delay(delay)
                self._become("failed", error=_one_line(error, self.settings), error_type=type(error).__name__)
            except Exception as error:  # a fault of ours must not leave the server "starting" for ever
                delay = self._next_delay(delay)
                self._become(
                    "failed", error="an internal error; see `mms logs upstream`", error_type=type(error).__name__
                )
                self._log.error("connection_failed", server=self.name, error=repr(error), exc_info=error)
            finally:
                await self._drop_peer()
            self._log.warning(
                "upstream_down", server=self.name, state=self.state, error=self._error, retry_in=round(delay, 2)
            )
            await asyncio.sleep(delay * random.uniform(0.8, 1.2))  # noqa: S311 (spreads reconnects, no secret)
            self._restarts += 1

    async def _connect_and_serve(self) -> None:
        """One connection from its start to its end."""
        settings = self.settings
        deadline = asyncio.get_running_loop().time() + settings.connect_timeout_seconds
        resolved = expand_upstream(self.name, settings, os.environ)
        peer = await self._spawn(resolved)
        self._peer = peer
        try:
            async with asyncio.timeout_at(deadline):
                session = await handshake.open_session(
                    peer, settings.connect_timeout_seconds, capabilities=self._capabilities, probe=self.probes
                )
                self._session = session
                self._listen(peer, session)
                tools, warnings = await handshake.list_tools(peer, settings.connect_timeout_seconds, session.dialect)
        except TimeoutError:
            raise UpstreamUnavailable(
                f"it did not finish its start within {settings.connect_timeout_seconds:g} s"
            ) from None
        except handshake.DiedOnProbe:
            raise
        except PeerUnavailable:
            raise UpstreamUnavailable(self._end_text()) from None
        self._warn(warnings)
        self.probes = self.probes and not session.silent
        self.tools, self.instructions, self.knows_tools = tools, session.instructions, True
        self._forgiven = False
        began = time.monotonic()
        self._become("ready")
        self._log.info("upstream_ready", server=self.name, tools=len(tools), server_info=session.server_info)
        if self._leaves:
            await self._drop_peer()
            await asyncio.Event().wait()
        self._welcome(peer, session)
        await peer.closed.wait()
        self._forgiven = self._forgiven or time.monotonic() - began > STABLE_SECONDS

    async def _spawn(self, settings: UpstreamSettings) -> Rpc:
        if settings.transport != "stdio":
            return await self._open_http(settings)
        env = environment(settings.env)
        cwd = settings.cwd or self._cwd or str(Path.home())
        command = settings.command
        if os.sep not in command and shutil.which(command, path=env.get("PATH")) is None:
            raise ConfigError(
                f"command not found: {command}; install it, or set its full path with `mms set {self.name}`"
            )
        if not await asyncio.to_thread(os.path.isdir, cwd):
            raise ConfigError(f"its working directory {cwd} does not exist")
        return await RpcPeer.spawn(
            [command, *settings.args],
            env=env,
            cwd=cwd,
            name=f"upstream {self.name}",
            group_dir=self._place.groups,
            max_line=self._max_bytes,
            on_notification=self._on_notification,
            on_request=self._on_request,
            on_stderr=StderrLog(self._log, self.name),
        )

    async def _open_http(self, settings: UpstreamSettings) -> Rpc:
        await asyncio.to_thread(importlib.import_module, "actors.upstream.http_open")  # the SDK, 0.7 s
        from actors.upstream.http_open import open_http

        return await open_http(
            self.name,
            settings,
            tokens=self._place.tokens,
            max_bytes=self._max_bytes,
            on_notification=self._on_notification,
            on_request=self._on_request,
        )

    async def _drop_peer(self) -> None:
        peer, self._peer = self._peer, None
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if peer is not None:
            self._junk_before += peer.junk_lines
            self._stderr_before += peer.stderr_bytes
            await peer.close()

    def _become(self, state: ServerStateName, *, error: str = "", error_type: str = "") -> None:
        self.state = state
        self.since = time.time()
        self._error, self._error_type = error, error_type
        self._changed.set()
        self._changed = asyncio.Event()
        self._on_change()

    def _next_delay(self, delay: float) -> float:
        first, most = self.settings.reconnect_delay_seconds, self.settings.max_reconnect_delay_seconds
        return min(max(first, delay * 2), most)

    def _end_text(self) -> str:
        return self._peer.end_text() if self._peer is not None else ""

    def _listen(self, peer: Rpc, session: handshake.Session) -> None:
        """Begins to hear of changes, before anything is listed, so that none is missed."""
        if session.dialect.stateless:
            self._listening = Listening(peer, session, lambda: self._link.subscribed(self.name))
            self._listening.renew()

    def _welcome(self, peer: Rpc, session: handshake.Session) -> None:
        """Gives a new connection what the clients want of it, and them the news."""
        self.set_log_level()
        if self._listening is None and session.offers("resources", "subscribe"):
            for uri in self._link.subscribed(self.name):
                self._start("resources/subscribe", {"uri": uri})
        for feature in ("resources", "prompts"):
            if session.offers(feature):
                self._link.said(self.name, f"notifications/{feature}/list_changed", b"{}")

    def _start(self, method: str, params: dict[str, object]) -> None:
        """Sends a request whose answer changes nothing."""
        if self._peer is not None and not self._peer.closed.is_set():
            _, future = self._peer.start(method, jsonrpc.encode(params))
            future.add_done_callback(lambda done: None if done.cancelled() else done.exception())

    def _warn(self, warnings: list[str]) -> None:
        for warning in warnings:
            self._log.warning("upstream_odd", server=self.name, warning=warning)

    def _on_request(self, method: str, params: bytes) -> Answer:
        if method == "ping":
            return b"{}"
        answer = self._link.asked(self.name, method, params or b"{}")
        if answer is not None:
            self._calls.questions += 1
            answer.add_done_callback(self._on_answered)
        return answer

    def _on_answered(self, _answer: asyncio.Future[bytes]) -> None:
        self._calls.questions -= 1

    def _on_notification(self, method: str, params: bytes) -> None:
        if method == "notifications/progress":
            self._calls.progressed(params)
        elif method == "notifications/tools/list_changed":
            if self._relist is None:
                loop = asyncio.get_running_loop()
                self._relist = loop.call_later(LIST_CHANGED_DEBOUNCE_SECONDS, self._start_relisting)
        else:
            self._link.said(self.name, method, params or b"{}")

    def _start_relisting(self) -> None:
        self._relist = None
        if self._peer is not None and self._session is not None and self.state == "ready":
            task = asyncio.get_running_loop().create_task(self._relist_tools(self._peer, self._session))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _relist_tools(self, peer: Rpc, session: handshake.Session) -> None:
        try:
            tools, warnings = await handshake.list_tools(peer, self.settings.connect_timeout_seconds, session.dialect)
        except (BusError, msgspec.MsgspecError) as error:
            self._log.warning("upstream_relist_failed", server=self.name, error=str(error))
            return
        self._warn(warnings)
        self.tools = tools
        self._on_change()


def _one_line(error: BaseException, settings: UpstreamSettings) -> str:
    """The error in one line, without anything of the server's environment or headers."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot start {settings.command}: {error.strerror}"
    if isinstance(error, msgspec.MsgspecError):
        return f"its answer to the handshake has another shape: {error}"
    text = error.message if isinstance(error, BusError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__
