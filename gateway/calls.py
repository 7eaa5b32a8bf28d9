"""`tools/list` and `tools/call`."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from bus import jsonrpc
from gateway.call import Call
from gateway.catalogue import CatalogueView, tool_list
from gateway.eras import META, SERVER_INFO, Failure, failed, foreign_meta
from gateway.library import check_cursor
from gateway.pipeline import Pipeline
from gateway.session import ProgressRelay, Request, Session
from gateway.tools import OwnTools

FIRST_LIST_SECONDS = 5.0
"""How long a first `tools/list` waits for the cluster to come up; the upstream actor bounds the rest (0.8 s)."""
_INFO = jsonrpc.encode({META + "serverInfo": SERVER_INFO})


class _CallParams(msgspec.Struct):
    name: str
    arguments: msgspec.Raw | UnsetType = UNSET
    inputResponses: msgspec.Raw | UnsetType = UNSET
    requestState: msgspec.Raw | UnsetType = UNSET


_call_decoder = msgspec.json.Decoder(_CallParams)


class Calls:
    """Serves the tools of the catalogue and our own."""

    def __init__(self, catalogue: CatalogueView, own: OwnTools, pipeline: Pipeline) -> None:
        self._catalogue = catalogue
        self._own = own
        self._pipeline = pipeline

    async def list(self, session: Session, request: Request) -> bytes:
        check_cursor(request)
        await self._catalogue.known(FIRST_LIST_SECONDS)
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
            return await self._own.call(params.name, arguments, stateless=request.stateless)
        entry = self._catalogue.find(params.name)
        if entry is None:
            await self._catalogue.known(FIRST_LIST_SECONDS)
            entry = self._catalogue.find(params.name)
        if entry is None:
            raise Failure(jsonrpc.INVALID_PARAMS, f"unknown tool: {params.name}; tools/list shows what there is")
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
            session.send(jsonrpc.error(request.id, failed(outcome.error, request.stateless)))
            return None
        return outcome.result


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
