"""Requests to one server: time limits, progress, cancellation, and what the outcome is called."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from actors.upstream.back_channel import explained, refusal
from actors.upstream.era import Dialect
from actors.upstream.messages import Progress, ResponseTooLarge, UpstreamInvalid, UpstreamTimeout
from actors.upstream.sessions import ASKABLE
from bus import jsonrpc
from bus.errors import DeadlineExceeded
from bus.rpc import Rpc, RpcError, TooLarge


@dataclass(slots=True)
class Ask:
    """One request of a client for a server.

    Attributes:
        params: JSON object.
        label: what people call it: the tool, or the method.
        read_only: it may be sent again when the server went away under it.
        capabilities, log_level, handshake: as in `actors.upstream.messages.CallTool`.
    """

    method: str
    params: bytes
    label: str
    read_only: bool
    deadline: float
    on_progress: Callable[[Progress], None] | None = None
    capabilities: bytes = b""
    log_level: str = ""
    handshake: bool = False


def tool_params(params: bytes, tool: str) -> bytes:
    """`params` with the server's own tool name in front; the other bytes stay as they came."""
    name = b'{"name":' + jsonrpc.encode(tool)
    rest = params.lstrip()[1:].lstrip()
    return name + (b"}" if rest.startswith(b"}") else b"," + rest)


class Calls:
    """The requests in flight with the server called `name`.

    Args:
        shared: several clients are behind them.

    Attributes:
        questions: requests of the server that a person or a model is answering at the moment.
    """

    def __init__(self, name: str, *, shared: bool) -> None:
        self.questions = 0
        self._name = name
        self._shared = shared
        self._tokens = itertools.count(1)
        self._progress: dict[int, Callable[[bytes], None]] = {}

    async def attempt(self, peer: Rpc, dialect: Dialect, ask: Ask, timeout: float) -> tuple[bytes | None, bytes | None]:
        """Sends a request once: the JSON of the result, or of the server's error.

        Args:
            timeout: seconds without an answer, progress or question.

        Raises:
            PeerUnavailable, and the errors of `actors.upstream.messages`.
        """
        loop = asyncio.get_running_loop()
        on_progress = ask.on_progress
        token = next(self._tokens) if on_progress is not None else 0
        params = dialect.params(ask.params, capabilities=ask.capabilities, log_level=ask.log_level, token=token)
        number, future = peer.start(ask.method, params)

        timer: asyncio.TimerHandle

        def wait() -> asyncio.TimerHandle:
            return loop.call_later(min(timeout, ask.deadline - loop.time()), expire)

        def expire() -> None:
            nonlocal timer
            if self.questions and loop.time() < ask.deadline:
                timer = wait()  # the server waits for its client; the overall deadline still holds
            elif not future.done():
                future.set_exception(DeadlineExceeded("no answer in time"))

        timer = wait()

        def relay(raw: bytes) -> None:
            nonlocal timer
            timer.cancel()  # a server that reports progress is at work
            timer = wait()
            if on_progress is not None:
                on_progress(Progress(params=raw))

        if token:
            self._progress[token] = relay
        try:
            return self._explained(await future, failed=False), None
        except DeadlineExceeded:
            peer.cancel(number, "no answer in time")
            seconds = f"{timeout:g} s" if loop.time() < ask.deadline else "the call's overall deadline"
            raise UpstreamTimeout(
                f"upstream {self._name} did not answer {ask.label} within {seconds}; it was told to cancel"
            ) from None
        except TooLarge as error:
            raise ResponseTooLarge(f"upstream {self._name}, {ask.label}: {error.message}") from None
        except RpcError as error:
            if not error.raw:
                raise UpstreamInvalid(f"upstream {self._name}, {ask.label}: {error.message}") from None
            return None, self._explained(error.raw, failed=True)
        except asyncio.CancelledError:
            peer.cancel(number, "the client cancelled the call")
            raise
        finally:
            timer.cancel()
            if token:
                self._progress.pop(token, None)

    def asked(self, method: str, answer: asyncio.Future[bytes] | None) -> asyncio.Future[bytes] | None:
        """Counts a question of the server for as long as it is open, and says why nobody can be asked."""
        if answer is not None:
            self.questions += 1
            answer.add_done_callback(self._answered)
        elif self._shared and method in ASKABLE:
            answer = asyncio.get_running_loop().create_future()
            answer.set_exception(RpcError("nobody can be asked", raw=refusal(self._name, method)))
        return answer

    def _explained(self, answer: bytes, *, failed: bool) -> bytes:
        return explained(answer, self._name, failed=failed) if self._shared else answer

    def _answered(self, _answer: asyncio.Future[bytes]) -> None:
        self.questions -= 1

    def progressed(self, params: bytes) -> None:
        """Takes a progress notification of the server."""
        try:
            parts = jsonrpc.members(params)
            token = jsonrpc.value(parts.pop("progressToken"))
        except (KeyError, msgspec.MsgspecError):
            return
        relay = self._progress.get(token) if isinstance(token, int) else None
        if relay is not None:
            relay(jsonrpc.encode(parts))
