"""What the headers and the envelope of an HTTP request say, and the errors that they can earn."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import importlib
from typing import Any

import msgspec
from msgspec import UNSET
from starlette.requests import Request

from bus import jsonrpc
from gateway.eras import META, STATELESS_VERSION, UNSUPPORTED_VERSION, VERSION_KEY
from gateway.http_guard import Denied

VERSION_HEADER = "mcp-protocol-version"
HEADER_MISMATCH = -32020
STATUS = {
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    -32021: 400,  # a capability of the client is missing
}
"""HTTP status of an error in the stateless era; every other reply is a 200."""
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The member of the params that `Mcp-Name` repeats."""
_CLIENT_INFO_KEY = META + "clientInfo"


class Refused(Exception):
    """Ends a request with a JSON-RPC error and a status."""

    def __init__(self, status: int, code: int, message: str, *, id_: bytes = b"null") -> None:
        super().__init__(message)
        self.status = status
        self.frame = jsonrpc.error(id_, jsonrpc.error_object(code, message))


def accepted_types(request: Request) -> set[str]:
    """The media types that the client takes; both of ours when it does not say."""
    header = request.headers.get("accept", "*/*")
    types = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    if types & {"*/*", ""}:
        types |= {"application/json", "text/event-stream"}
    if "application/*" in types:
        types.add("application/json")
    if not types & {"application/json", "text/event-stream"}:
        raise Denied(406, "the client must accept application/json and text/event-stream")
    return types


def _meta(frame: jsonrpc.Frame) -> dict[str, msgspec.Raw]:
    """The members of a request's `_meta`."""
    if frame.params is UNSET or b'"_meta"' not in bytes(frame.params):
        return {}
    try:
        return jsonrpc.members(jsonrpc.members(frame.params).get("_meta", b"{}"))
    except msgspec.MsgspecError:
        return {}


def is_stateless(frame: jsonrpc.Frame, request: Request) -> bool:
    return VERSION_KEY in _meta(frame) or request.headers.get(VERSION_HEADER) == STATELESS_VERSION


def tool_name(frame: jsonrpc.Frame) -> str:
    """Of a `tools/call`; empty when it says none."""
    name = _member(frame, "name")
    return name if isinstance(name, str) else ""


def _id(frame: jsonrpc.Frame) -> bytes:
    """JSON of the id by which an error can name a request."""
    return bytes(frame.id) if frame.id is not UNSET and jsonrpc.is_valid_id(bytes(frame.id)) else b"null"


def _member(frame: jsonrpc.Frame, name: str) -> Any:
    """A member of the params; `None` when it is not there."""
    raw = jsonrpc.members(frame.params).get(name) if frame.params is not UNSET else None
    return jsonrpc.value(raw) if raw is not None else None


def progress_token(frame: jsonrpc.Frame) -> bytes:
    return bytes(_meta(frame).get("progressToken", b""))


def check_routing(request: Request, frame: jsonrpc.Frame) -> None:
    """The headers repeat parts of the body for those on the way who read no bodies; they must say the same."""
    id_ = _id(frame)
    meta = _meta(frame)
    if VERSION_KEY not in meta:
        problem = f"params._meta must be an object carrying the required {VERSION_KEY}"
        raise Refused(400, jsonrpc.INVALID_PARAMS, problem, id_=id_)
    expected: dict[str, object] = {VERSION_HEADER: jsonrpc.value(meta[VERSION_KEY]), "mcp-method": frame.method}
    key = NAMED.get(str(frame.method))
    if key is not None and frame.params is not UNSET:
        expected["mcp-name"] = _member(frame, key)
    for header, value in expected.items():
        given = request.headers.getlist(header)
        if len(given) != 1 or _decoded(given[0]) != value:
            raise Refused(400, HEADER_MISMATCH, f"the header {header} does not match the body", id_=id_)


async def check_parameters(request: Request, frame: jsonrpc.Frame, schema: bytes) -> None:
    """The same for arguments of a tool: those that its schema wants to be repeated (`x-mcp-header`).

    Args:
        schema: JSON of the tool's `inputSchema`.
    """
    if b'"x-mcp-header"' not in schema or frame.params is UNSET:
        return
    arguments = _member(frame, "arguments") or {}
    await asyncio.to_thread(importlib.import_module, "mcp.shared.inbound")  # the SDK, 0.7 s
    from mcp.shared.inbound import validate_mcp_param_headers

    if not isinstance(arguments, dict):
        return  # the call itself says so
    fault = validate_mcp_param_headers(jsonrpc.value(schema), arguments, request.headers)
    if fault is not None:
        raise Refused(400, HEADER_MISMATCH, fault.message, id_=_id(frame))


def _decoded(value: str) -> str | None:
    """A header value, out of its base64 wrapping if it has one; `None` when that is broken."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def identity(request: Request, frame: jsonrpc.Frame) -> str:
    """Names the client of a stateless request as well as can be: where it is and what it calls itself."""
    where = request.client.host if request.client is not None else ""
    about = bytes(_meta(frame).get(_CLIENT_INFO_KEY, b""))
    return hashlib.sha256(where.encode() + b"\0" + about).hexdigest()[:8]


def status_of(answer: bytes) -> int:
    error = jsonrpc.parse(answer)[0].error
    return 200 if error is UNSET else STATUS.get(jsonrpc.value(jsonrpc.members(error)["code"]), 200)
