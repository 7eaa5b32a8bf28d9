"""`tools/list` and `tools/call`."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import UNSET, UnsetType

from actors.upstream.messages import GetServers, ToolEntry
from bus import jsonrpc
from bus.errors import BusError
from gateway import missing
from gateway.call import Call
from gateway.catalogue import CatalogueView, tool_list
from gateway.eras import META, SERVER_INFO, Failure, failed, foreign_meta
from gateway.library import check_cursor
from gateway.pipeline import Pipeline
from gateway.response import text_result
from gateway.session import ProgressRelay, Request, Session
from gateway.tools import OwnTools

STATES_SECONDS = 1.0
STARTING_SECONDS = 30.0
"""A call waits no longer for a server to start that may have its tool, nor longer than its connect time-out."""
LOOK_AGAIN_SECONDS = 0.1
_INFO = jsonrpc.encode({META + "serverInfo": SERVER_INFO})


class _CallParams(msgspec.Struct):
    name: str
    arguments: msgspec.Raw | UnsetType = UNSET
    inputResponses: msgspec.Raw | UnsetType = UNSET
    requestState: msgspec.Raw | UnsetType = UNSET


_call_decoder = msgspec.json.Decoder(_CallParams)


class Calls:
    """Serves the tools of the catalogue and our own.

    Args:
        lister: what shows the caller which tools there are.
    """

    def __init__(self, catalogue: CatalogueView, own: OwnTools, pipeline: Pipeline, lister: str) -> None:
        self._lister = lister
        self._catalogue = catalogue
        self._own = own
        self._pipeline = pipeline

    async def list(self, session: Session, request: Request) -> bytes:
        check_cursor(request)
        await self._catalogue.known()
        tools = b'"tools":' + tool_list(self._own.definitions(), self._catalogue.listed())
        if not request.stateless:  # clients of the other era are told of changes when they have subscribed to them
            session.listed_generation = self._catalogue.generation
            return b"{" + tools + b"}"
        return b'{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":' + _INFO + b"," + tools + b"}"

    async def call(self, session: Session, request: Request) -> bytes | None:
        params = _decode_call(request.params)
        arguments = b"{}" if params.arguments is UNSET else bytes(params.arguments)
        if arguments == b"null":
            arguments = b"{}"
        if arguments[:1] != b"{":
            raise Failure(jsonrpc.INVALID_PARAMS, "arguments must be an object")
        if params.name in self._own:
            return await self._own.call(params.name, arguments, stateless=request.stateless, session=session.name)
        entry = self._catalogue.find(params.name) or await self._look(params.name)
        if isinstance(entry, missing.Missing):
            self._pipeline.note_missing(entry, session.name, request.started)
            return text_result(entry.why, is_error=True, stateless=request.stateless)
        arguments, query = take_context_query(arguments, entry.input_schema)
        relay = ProgressRelay(session, request)
        call = Call(
            entry=entry,
            arguments=arguments,
            meta=foreign_meta(request.meta),
            context_query=query,
            on_progress=relay if relay.wanted else None,
            stateless=request.stateless,
            session=session.name,
            started=request.started,
            client=session,
            capabilities=session.askable(request),
            log_level=session.level_for(request),
            inputs=_inputs(params) if request.stateless else {},
        )
        outcome = await self._pipeline.call(call)
        await relay.settle()
        if outcome.error is not None:
            session.reply(request, jsonrpc.error(request.id, failed(outcome.error, request.stateless)))
            return None
        return outcome.result

    async def _look(self, name: str) -> ToolEntry | missing.Missing:
        """The same as `_look_once`, once the server that may have the tool has started or has failed to.

        Raises:
            Failure: no server is known to have such a tool.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            found = await self._look_once(name)
            if not isinstance(found, missing.Missing) or not found.is_starting:
                return found
            upstream = self._pipeline.settings.proxy.upstream_servers.get(found.server)
            patience = 0.0 if upstream is None else min(upstream.connect_timeout_seconds, STARTING_SECONDS)
            if loop.time() - began >= patience:
                return found
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _look_once(self, name: str) -> ToolEntry | missing.Missing:
        """A tool that this gateway is only just being told of, or what to tell about one of a server that is known.

        Raises:
            Failure: no server is known to have such a tool.
        """
        await self._catalogue.known()
        entry = self._catalogue.find(name)
        if entry is not None:
            return entry
        servers, withheld = self._catalogue.servers, self._catalogue.withheld
        try:  # the states of this moment; the catalogue is only told again when the tools change
            now = await self._pipeline.upstream.bus.ask(GetServers(), timeout=STATES_SECONDS, wait=0.0)
            servers, withheld = now.servers, now.withheld
            entry = next((tool for tool in now.tools if tool.name == name), None)
        except BusError as error:
            if not self._catalogue.generation:
                return missing.Missing(
                    "", missing.shown(name), f"no server can be asked at the moment: {error.message}"
                )
        if entry is not None:
            return entry
        found = missing.explain(name, servers, withheld)
        if found is not None:
            return found
        names = (*self._catalogue.names(), *self._own.names())
        hint = missing.suggestion(name, names)
        what = f"unknown tool: {missing.shown(name)}{hint}{'' if hint else ';'}"
        raise Failure(jsonrpc.INVALID_PARAMS, f"{what} {self._lister} shows what there is")


def take_context_query(arguments: bytes, schema: bytes) -> tuple[bytes, str]:
    """The arguments without `_context_query`, and its value; untouched when the tool owns a property of that name."""
    if b'"_context_query"' not in arguments:
        return arguments, ""
    properties = jsonrpc.value(schema).get("properties")
    if isinstance(properties, dict) and "_context_query" in properties:
        return arguments, ""
    members = jsonrpc.members(arguments)
    raw = members.pop("_context_query", None)
    query = jsonrpc.value(raw) if raw is not None else ""
    return jsonrpc.encode(members), query if isinstance(query, str) else ""


def _decode_call(params: bytes) -> _CallParams:
    try:
        return _call_decoder.decode(params)
    except msgspec.MsgspecError as error:
        raise Failure(jsonrpc.INVALID_PARAMS, f"tools/call: {error}") from None


def _inputs(params: _CallParams) -> dict[str, msgspec.Raw]:
    """What a client that comes back gives beside the arguments."""
    given = {"inputResponses": params.inputResponses, "requestState": params.requestState}
    return {key: value for key, value in given.items() if isinstance(value, msgspec.Raw)}
