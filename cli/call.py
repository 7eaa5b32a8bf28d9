"""`mms call`: one call through a gateway in this process."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import click
import msgspec
from msgspec import UNSET, UnsetType

from actors.upstream.messages import Catalogue
from bus import jsonrpc
from bus.client import Bus
from bus.endpoint import Runtime
from bus.outbox import Outbox
from bus.tasks import end
from cli.catalogue import SILENT_SECONDS, catalogue_when, has_settled
from cli.cluster import ensure_cluster
from cli.context import current_place, usable_settings
from cli.output import FAILED, USAGE, Answer, Failure, answers, printable, read_input, talk
from config.load import Loaded
from config.place import Place
from config.session import SessionSettings
from gateway.catalogue import CatalogueView
from gateway.pipeline import Pipeline
from gateway.protocol import Protocol
from gateway.session import Session
from gateway.tools import OwnTools

LAST_EVENTS_SECONDS = 1.0


class _Answer(msgspec.Struct):
    """The JSON-RPC response to the call."""

    result: msgspec.Raw | UnsetType = UNSET
    error: msgspec.Raw | UnsetType = UNSET


class _Result(msgspec.Struct, rename="camel"):
    content: list[dict[str, Any]] = []
    structured_content: msgspec.Raw | UnsetType = UNSET
    is_error: bool = False


@click.command()
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@answers
def call(tool: str, arguments: str) -> Answer:
    """Call a tool the way a client would: cached, shortened, with memories.

    JSON is an object with the tool's arguments; `-` reads it from stdin. TOOL is a name of `mms tools`, or one of the
    gateway's own such as stm_proxy_read_more. Starts the background cluster if none runs.

    \b
    Example:
      mms call fs__read_text_file '{"path": "/var/log/syslog"}'
    """
    raw = _checked(read_input() if arguments == "-" else arguments)
    place = current_place()
    loaded = usable_settings(place)
    ensure_cluster(place)
    answer = msgspec.json.decode(asyncio.run(_through_gateway(place, loaded, tool, raw)), type=_Answer)
    if answer.error is not UNSET:
        message = str(jsonrpc.value(answer.error).get("message", ""))
        data = {"tool": tool, "rpc_error": answer.error}
        return Answer(data=data, talk=printable(message), exit_code=FAILED, error="rpc_error", message=message)
    if answer.result is UNSET:
        raise Failure("no_answer", f"{tool} answered with nothing")
    result = msgspec.json.decode(answer.result, type=_Result)
    text = "\n".join(_shown(block) for block in result.content)
    if not result.content and result.structured_content is not UNSET:
        text = bytes(result.structured_content).decode()
    return Answer(
        data={"tool": tool, "result": answer.result},
        text=text,
        exit_code=FAILED if result.is_error else 0,
        error="tool_error" if result.is_error else "",
        message=text if result.is_error else "",
    )


async def _through_gateway(place: Place, loaded: Loaded, tool: str, arguments: msgspec.Raw) -> bytes:
    """The frame that a client would get."""
    settings = loaded.settings
    name = f"mms-call-{os.getpid()}"
    bus = Bus(Runtime(place.runtime), name)
    events = Outbox(bus)
    # Whoever calls by name needs nothing advertised.
    session_settings = msgspec.structs.replace(
        SessionSettings.from_environment(os.environ), advertise_observability_tools=True
    )
    pipeline = Pipeline(bus, events, settings, session_settings, lambda: ensure_cluster(place))
    catalogue = CatalogueView(bus)
    own = OwnTools(bus, events, pipeline, catalogue, session_settings, lambda: loaded.problems)
    protocol = Protocol(catalogue, own, pipeline, lambda: settings.proxy.max_instruction_chars, lister="`mms tools`")
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    session = Session(name, answered.set_result)
    protocol.open(session)
    following = asyncio.ensure_future(catalogue.follow())
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    try:
        if tool not in own:
            await catalogue_when(bus, lambda now: _has(now, tool) or not _may_come(now, tool), "the servers")
        protocol.handle(session, msgspec.json.encode(request))
        done, _ = await asyncio.wait([answered], timeout=SILENT_SECONDS)
        if not done:
            talk(f"Waiting for {printable(tool)} …")
        return await answered
    finally:
        protocol.close(session)
        await end((following,))
        await events.close(LAST_EVENTS_SECONDS)
        bus.close()


def _may_come(catalogue: Catalogue, tool: str) -> bool:
    """Whether a server that is still starting may have the tool."""
    starting = (server for server in catalogue.servers if not has_settled(catalogue, server))
    return any(tool.startswith(f"{server.prefix}__" if server.prefix else "") for server in starting)


def _has(catalogue: Catalogue, tool: str) -> bool:
    return any(entry.name == tool for entry in catalogue.tools)


def _checked(arguments: str) -> msgspec.Raw:
    """The arguments as they were written.

    Raises:
        Failure: not a JSON object.
    """
    try:
        found = msgspec.json.decode(arguments)
    except msgspec.DecodeError as error:
        raise Failure("usage", f"the arguments are not JSON: {error}", USAGE) from None
    if not isinstance(found, dict):
        raise Failure("usage", 'the arguments are a JSON object, such as \'{"path": "/tmp"}\'', USAGE)
    return msgspec.Raw(arguments.strip().encode())


def _shown(block: dict[str, Any]) -> str:
    """A content block for people: text as it is, anything else in a line."""
    if block.get("type") == "text":
        return str(block.get("text", ""))
    kind = block.get("mimeType", "")
    if "data" in block:
        return f"[{block.get('type')} {kind}, {len(str(block['data'])) * 3 // 4:,} bytes]"
    return f"[{msgspec.json.encode(block).decode()}]"
