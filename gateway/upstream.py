"""The way to a server: over the bus, with a repeat where that is safe, and with the server's questions answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from actors.upstream.library_messages import AnswerServer, AskServer, ClientProgress
from actors.upstream.messages import CallResult, CallTool, Progress, UpstreamInvalid
from bus import jsonrpc
from bus.client import Bus
from bus.errors import BusError, Busy, PeerRestarted, PeerUnavailable, Stopping
from bus.message import Blob
from bus.rpc import RpcError
from gateway.interim import MAX_ROUNDS, STATE_PREFIX, Open, for_handshake, interim
from gateway.session import Session

CLUSTER_START_SECONDS = 10.0
POLL_SECONDS = 0.05
ANSWER_SECONDS = 10.0
AGAIN_SECONDS = 0.1
"""Wait before a server that gave nothing but a state is asked again; doubles."""

Asked = CallTool | AskServer


@dataclass(slots=True)
class Terms:
    """How a request is to be taken to its server.

    Attributes:
        label: what people call it.
        read_only: it may be sent again after a failure that leaves open whether it has run.
        timeout: seconds for everything.
        on_progress: takes the params of each progress notification.
    """

    label: str
    read_only: bool
    timeout: float
    trace_id: str = ""
    on_progress: Callable[[bytes], None] | None = None


class Upstream:
    """Takes requests to servers.

    Args:
        start_cluster: starts the cluster when it is gone; blocks for a moment.
        dedicated: whether a server's processes belong to one client each, and may ask it.
    """

    def __init__(self, bus: Bus, start_cluster: Callable[[], None], dedicated: Callable[[str], bool]) -> None:
        self.bus = bus
        self._start_cluster = start_cluster
        self._dedicated = dedicated
        self._starting = asyncio.Lock()

    async def ask(
        self,
        request: Asked,
        terms: Terms,
        *,
        client: Session | None = None,
        stateless: bool = False,
        inputs: dict[str, msgspec.Raw] | None = None,
    ) -> CallResult:
        """Asks a server.

        Args:
            client: who can be asked for input.
            stateless: it has asked in the stateless era.
            inputs: `inputResponses` and `requestState` of a stateless client that comes back with its input.

        Returns:
            the answer. For a stateless client it may be an interim result (`gateway.interim`).

        Raises:
            BusError.
        """
        if client is None:
            return await self._once(request, terms)
        if not stateless:
            return await self._with_inputs(request, terms, client)
        if self._dedicated(request.server):
            return await self._parkable(request, terms, client, inputs or {})
        return await self._once(_with(request, inputs) if inputs else request, terms)

    async def answer(self, client: Session, number: int, reply: asyncio.Future[bytes]) -> None:
        """Waits for the client's reply and takes it to the server."""
        try:
            result, error = Blob(await reply), None
        except RpcError as refused:
            result, error = None, Blob(refused.raw or _refusal("the client did not answer"))
        answer = AnswerServer(session=client.name, number=number, result=result, error=error)
        await self.bus.ask(answer, timeout=ANSWER_SECONDS)

    async def progressed(self, client: Session, number: int, params: bytes) -> None:
        """Tells a server how its client gets on with its request."""
        await self.bus.ask(ClientProgress(session=client.name, number=number, params=params), timeout=ANSWER_SECONDS)

    async def refuse(self, client: Session, number: int, method: str) -> None:
        """Tells a server that its client cannot be asked this."""
        error = Blob(_refusal(f"{method} is not supported by the client"))
        await self.bus.ask(AnswerServer(session=client.name, number=number, error=error), timeout=ANSWER_SECONDS)

    async def _with_inputs(self, request: Asked, terms: Terms, client: Session) -> CallResult:
        """A request of a client that is asked, by requests of its own era, for what the server needs."""
        answer = await self._once(request, terms)
        wait = AGAIN_SECONDS
        for _ in range(MAX_ROUNDS):
            members = interim(answer.result.data) if answer.result is not None else None
            if members is None:
                return answer
            given = {"requestState": members["requestState"]} if "requestState" in members else {}
            if "inputRequests" in members:
                try:
                    given["inputResponses"] = msgspec.Raw(await _inputs(client, members["inputRequests"]))
                except (KeyError, msgspec.MsgspecError):
                    what = f"upstream {request.server} asked for input in a way that cannot be understood"
                    raise UpstreamInvalid(f"{what}, for {terms.label}") from None
            else:
                await asyncio.sleep(wait)
                wait *= 2
            answer = await self._once(_with(request, given), terms)
        what = f"upstream {request.server} asked for input more than {MAX_ROUNDS} times"
        raise BusError(f"{what} for {terms.label}")

    async def _parkable(
        self, request: Asked, terms: Terms, client: Session, inputs: dict[str, msgspec.Raw]
    ) -> CallResult:
        """A request that is parked while its server waits for the client's input."""
        state = jsonrpc.value(inputs["requestState"]) if "requestState" in inputs else ""
        if isinstance(state, str) and state.startswith(STATE_PREFIX):
            parked_before = client.parking.resume(state, request.server)
            if parked_before is None:
                data = {"reason": "invalid_request_state"}
                error = jsonrpc.error_object(jsonrpc.INVALID_PARAMS, "Invalid or expired requestState", data)
                return CallResult(error=Blob(error))
            entry = parked_before
            entry.on_progress = terms.on_progress
            await self._respond(client, entry, inputs)
        else:
            if inputs:
                request = _with(request, inputs)
            entry = Open(request.server, terms.on_progress)
            asked = self._once(request, replace(terms, on_progress=entry.progressed))
            entry.task = asyncio.get_running_loop().create_task(asked)
            client.parking.add(entry)
        parked = False
        news = asyncio.get_running_loop().create_task(entry.news.wait())
        try:
            await asyncio.wait({entry.task, news}, return_when=asyncio.FIRST_COMPLETED)
            if entry.task.done():
                return entry.task.result()
            parked = True
            return CallResult(result=Blob(client.parking.park(entry)))
        finally:
            news.cancel()
            if not parked:
                client.parking.leave(entry)

    async def _respond(self, client: Session, entry: Open, inputs: dict[str, msgspec.Raw]) -> None:
        """Takes what the client gave to the server; what it left out will be asked again."""
        given = jsonrpc.members(inputs.get("inputResponses", b"{}"))
        for key, raw in given.items():
            number = next((number for number in entry.questions if str(number) == key), None)
            if number is not None:
                del entry.questions[number]
                answer = AnswerServer(session=client.name, number=number, result=Blob(bytes(raw)))
                await self.bus.ask(answer, timeout=ANSWER_SECONDS)
        if entry.questions:
            entry.news.set()

    async def _once(self, request: Asked, terms: Terms) -> CallResult:
        """One request over the bus; the cluster is started for it if it is gone."""
        timeout, trace_id = terms.timeout, terms.trace_id
        on_item = None if terms.on_progress is None else _params_to(terms.on_progress)
        try:
            return await self.bus.ask(request, timeout=timeout, trace_id=trace_id, on_item=on_item)
        except PeerRestarted:
            if not terms.read_only:
                what = f"the upstream pool was restarted while {terms.label} was running"
                raise PeerRestarted(f"{what}; it may have taken effect, so it was not repeated") from None
        except Busy:
            raise
        except Stopping:  # nothing has begun, so even a write may be sent to the next one
            await self._outlast()
        except PeerUnavailable:  # nothing has been sent
            await self._revive()
        return await self.bus.ask(
            request, timeout=timeout, trace_id=trace_id, on_item=on_item, wait=CLUSTER_START_SECONDS
        )

    async def _outlast(self) -> None:
        """Waits until an actor that is stopping has gone, then sees that there is another."""
        loop = asyncio.get_running_loop()
        end = loop.time() + CLUSTER_START_SECONDS
        while self.bus.is_connected("upstream") and loop.time() < end:
            await asyncio.sleep(POLL_SECONDS)
        await self._revive()

    async def _revive(self) -> None:
        """Starts the cluster if nobody else has by now."""
        async with self._starting:
            if not self.bus.is_connected("upstream"):
                await asyncio.to_thread(self._start_cluster)


def _params_to(on_progress: Callable[[bytes], None]) -> Callable[[Progress], None]:
    return lambda item: on_progress(item.params)


async def _inputs(client: Session, requests: msgspec.Raw) -> bytes:
    """JSON of `inputResponses`: what the client answers to each embedded request, asked one after the other.

    Raises:
        BusError: it refused one, or cannot be asked.
    """
    given: dict[str, msgspec.Raw] = {}
    for key, raw in jsonrpc.members(requests).items():
        embedded = jsonrpc.members(raw)
        method = jsonrpc.string(embedded["method"])
        params = bytes(embedded["params"]) if "params" in embedded else None
        if not client.initialized:
            raise BusError(f"the server needs {method}, for which this client cannot be asked")
        try:
            given[key] = msgspec.Raw(await client.ask(method, for_handshake(method, params)))
        except RpcError as error:
            raise BusError(f"the server needs {method}, which the client refused: {_message(error)}") from None
    return jsonrpc.encode(given)


def _with(request: Asked, members: dict[str, msgspec.Raw]) -> Asked:
    """The request with further members in its params."""
    own: dict[str, Any] = {**jsonrpc.members(request.params.data), **members}
    return msgspec.structs.replace(request, params=Blob(jsonrpc.encode(own)))


def _message(error: RpcError) -> str:
    found = jsonrpc.value(error.raw) if error.raw else {}
    return str(found.get("message", "")) if isinstance(found, dict) else ""


def _refusal(message: str) -> bytes:
    return jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, message)
