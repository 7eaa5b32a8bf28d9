"""One server's life: start, serve many calls at once, notice its end, come back.

States: `starting` → `ready` ⇄ `reconnecting`; `failed` while it waits to try again after a failure to start.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from actors.upstream import handshake
from actors.upstream.kept import KeptServer
from actors.upstream.messages import (
    CallResult,
    Progress,
    ResponseTooLarge,
    ServerState,
    ServerStateName,
    UpstreamDied,
    UpstreamInvalid,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from actors.upstream.stderr_log import StderrLog
from bus import jsonrpc
from bus.child import environment
from bus.errors import BusError, Busy, ConfigError, DeadlineExceeded, PeerUnavailable
from bus.log import Log
from bus.message import Blob
from bus.rpc_peer import RpcError, RpcPeer, TooLarge
from config.expand import expand_upstream
from config.schema_upstream import UpstreamSettings

STABLE_SECONDS = 30.0
"""A connection that lasted this long, or answered a call, is forgiven: its next reconnect is immediate."""
LIST_CHANGED_DEBOUNCE_SECONDS = 0.1


class Server:
    """The connection to one upstream server.

    Args:
        kept: what the last run knew of it, or `None`.
        groups: directory where its process group is written down.
        max_bytes: largest answer accepted.
        on_change: called when its state or its tools have changed.
    """

    def __init__(
        self,
        name: str,
        settings: UpstreamSettings,
        *,
        kept: KeptServer | None,
        groups: Path,
        max_bytes: int,
        log: Log,
        on_change: Callable[[], None],
    ) -> None:
        self.name = name
        self.settings = settings
        self.tools: list[bytes] = [bytes(tool) for tool in kept.tools] if kept else []
        self.instructions = kept.instructions if kept else ""
        self.knows_tools = kept is not None
        self.state: ServerStateName = "starting"
        self.since = time.time()
        self._groups = groups
        self._max_bytes = max_bytes
        self._log = log
        self._on_change = on_change
        self._changed = asyncio.Event()
        self._peer: RpcPeer | None = None
        self._session: handshake.Session | None = None
        self._error = ""
        self._error_type = ""
        self._restarts = 0
        self._junk_before = 0
        self._stderr_before = 0
        self._forgiven = False
        self._tokens = itertools.count(1)
        self._progress: dict[int, Callable[[bytes], None]] = {}
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
            pid=peer.child.pid if peer else 0,
            junk_lines=self._junk_before + (peer.junk_lines if peer else 0),
            stderr_bytes=self._stderr_before + (peer.stderr_bytes if peer else 0),
            server_info=session.server_info if session else "",
            protocol_version=session.protocol_version if session else "",
            instructions=self.instructions,
        )

    async def call(
        self,
        tool: str,
        params: bytes,
        *,
        read_only: bool,
        deadline: float,
        on_progress: Callable[[Progress], None] | None,
    ) -> CallResult:
        """Calls a tool; a read is sent again when the server went away under it, a write never.

        Args:
            params: JSON object without `name`.
            deadline: loop time at which everything must be over.

        Raises:
            the errors of `actors.upstream.messages`.
        """
        retries = 0
        while True:
            peer = await self._connected(deadline)
            started = time.perf_counter()
            try:
                result, error = await self._attempt(peer, tool, params, deadline, on_progress)
            except PeerUnavailable as gone:
                if isinstance(gone, Busy):
                    raise UpstreamUnavailable(f"upstream {self.name}: {gone.message}") from None
                if not read_only:
                    what = f"upstream {self.name} went away while {tool} was running"
                    raise UpstreamDied(f"{what}; it may have taken effect, so it was not repeated") from None
                if retries >= self.settings.max_retries:
                    raise UpstreamDied(
                        f"upstream {self.name} went away {retries + 1} times while {tool} was running"
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

    async def stop(self) -> None:
        """Ends the server and everything it has started."""
        self._life.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(self._life, *self._tasks, return_exceptions=True)
        if self._relist is not None:
            self._relist.cancel()

    async def _connected(self, deadline: float) -> RpcPeer:
        """The live connection, waiting for one that is starting or coming back."""
        loop = asyncio.get_running_loop()
        wait_until = min(deadline, loop.time() + self.settings.connect_timeout_seconds)
        while True:
            if self._peer is not None and self.state == "ready" and not self._peer.closed.is_set():
                return self._peer
            if self.state == "failed":
                raise UpstreamUnavailable(f"upstream {self.name} is not available: {self._error}")
            try:
                async with asyncio.timeout_at(wait_until):
                    await self._changed.wait()
            except TimeoutError:
                why = self._error or "no answer yet"
                raise UpstreamUnavailable(f"upstream {self.name} is still {self.state} ({why})") from None

    async def _attempt(
        self, peer: RpcPeer, tool: str, params: bytes, deadline: float, on_progress: Callable[[Progress], None] | None
    ) -> tuple[bytes | None, bytes | None]:
        """One request: the JSON of the result, or of the server's error."""
        loop = asyncio.get_running_loop()
        token = next(self._tokens)
        if on_progress is not None:
            params = _with_progress_token(params, token)
        timeout = self.settings.call_timeout_seconds
        number, future = peer.start("tools/call", _with_name(params, tool))
        timer = loop.call_later(min(timeout, deadline - loop.time()), _expire, future)

        def relay(raw: bytes) -> None:
            nonlocal timer
            timer.cancel()  # a server that reports progress is at work; the overall deadline still holds
            timer = loop.call_later(min(timeout, deadline - loop.time()), _expire, future)
            if on_progress is not None:
                on_progress(Progress(params=raw))

        if on_progress is not None:
            self._progress[token] = relay
        try:
            return await future, None
        except DeadlineExceeded:
            peer.cancel(number, "no answer in time")
            seconds = f"{timeout:g} s" if loop.time() < deadline else "the call's overall deadline"
            raise UpstreamTimeout(
                f"upstream {self.name} did not answer {tool} within {seconds}; it was told to cancel"
            ) from None
        except TooLarge as error:
            raise ResponseTooLarge(f"upstream {self.name}, tool {tool}: {error.message}") from None
        except RpcError as error:
            if not error.raw:
                raise UpstreamInvalid(f"upstream {self.name}, tool {tool}: {error.message}") from None
            return None, error.raw
        except asyncio.CancelledError:
            peer.cancel(number, "the client cancelled the call")
            raise
        finally:
            timer.cancel()
            self._progress.pop(token, None)

    async def _live(self) -> None:
        delay = 0.0
        while True:
            try:
                await self._connect_and_serve()
                delay = 0.0 if self._forgiven else self._next_delay(delay)
                self._become("reconnecting", error=self._end_text(), error_type="ConnectionClosed")
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
                session = await handshake.open_session(peer, settings.connect_timeout_seconds)
        except TimeoutError:
            raise UpstreamUnavailable(
                f"it did not finish its start within {settings.connect_timeout_seconds:g} s"
            ) from None
        except PeerUnavailable:
            raise UpstreamUnavailable(self._end_text()) from None
        for warning in session.warnings:
            self._log.warning("upstream_odd", server=self.name, warning=warning)
        self._session = session
        self.tools, self.instructions, self.knows_tools = session.tools, session.instructions, True
        self._forgiven = False
        began = time.monotonic()
        self._become("ready")
        self._log.info("upstream_ready", server=self.name, tools=len(session.tools), server_info=session.server_info)
        await peer.closed.wait()
        self._forgiven = self._forgiven or time.monotonic() - began > STABLE_SECONDS

    async def _spawn(self, settings: UpstreamSettings) -> RpcPeer:
        if settings.transport != "stdio":
            raise ConfigError(f"transport {settings.transport} is not served by this version; use a stdio server")
        env = environment(settings.env)
        cwd = settings.cwd or str(Path.home())
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
            group_dir=self._groups,
            max_line=self._max_bytes,
            on_notification=self._on_notification,
            on_request=_answer_request,
            on_stderr=StderrLog(self._log, self.name),
        )

    async def _drop_peer(self) -> None:
        peer, self._peer = self._peer, None
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
        """Why the connection ended, as far as the child has told."""
        peer = self._peer
        code = peer.child.transport.get_returncode() if peer is not None else None
        text = "it closed its output" if code is None else f"it exited with code {code}"
        tail = peer.stderr_tail.decode("utf-8", "replace").strip().splitlines() if peer is not None else []
        return f"{text}; its last words are in `mms logs upstream`" if tail else text

    def _on_notification(self, method: str, params: bytes) -> None:
        if method == "notifications/progress":
            self._on_progress(params)
        elif method == "notifications/tools/list_changed" and self._relist is None:
            loop = asyncio.get_running_loop()
            self._relist = loop.call_later(LIST_CHANGED_DEBOUNCE_SECONDS, self._start_relisting)

    def _on_progress(self, params: bytes) -> None:
        try:
            parts = jsonrpc.members(params)
            token = jsonrpc.value(parts.pop("progressToken"))
        except (KeyError, msgspec.MsgspecError):
            return
        relay = self._progress.get(token) if isinstance(token, int) else None
        if relay is not None:
            relay(jsonrpc.encode(parts))

    def _start_relisting(self) -> None:
        self._relist = None
        if self._peer is not None and self.state == "ready":
            task = asyncio.get_running_loop().create_task(self._relist_tools(self._peer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _relist_tools(self, peer: RpcPeer) -> None:
        try:
            tools, warnings = await handshake.list_tools(peer, self.settings.connect_timeout_seconds)
        except (BusError, msgspec.MsgspecError) as error:
            self._log.warning("upstream_relist_failed", server=self.name, error=str(error))
            return
        for warning in warnings:
            self._log.warning("upstream_odd", server=self.name, warning=warning)
        self.tools = tools
        self._on_change()


def _expire(future: asyncio.Future[bytes]) -> None:
    if not future.done():
        future.set_exception(DeadlineExceeded("no answer in time"))


def _answer_request(method: str, params: bytes) -> bytes | None:
    return b"{}" if method == "ping" else None


def _with_name(params: bytes, tool: str) -> bytes:
    """`params` with the server's own tool name in front; the other bytes stay as they came."""
    name = b'{"name":' + jsonrpc.encode(tool)
    rest = params.lstrip()[1:].lstrip()
    return name + (b"}" if rest.startswith(b"}") else b"," + rest)


def _with_progress_token(params: bytes, token: int) -> bytes:
    parts = dict(jsonrpc.members(params))
    meta = dict(jsonrpc.members(parts["_meta"])) if "_meta" in parts else {}
    return jsonrpc.join({**parts, "_meta": {**meta, "progressToken": token}})


def _one_line(error: BaseException, settings: UpstreamSettings) -> str:
    """The error in one line, without anything of the server's environment or headers."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot start {settings.command}: {error.strerror}"
    if isinstance(error, msgspec.MsgspecError):
        return f"its answer to the handshake has another shape: {error}"
    text = error.message if isinstance(error, BusError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__
