"""Contract of the upstream pool."""

from __future__ import annotations

from typing import Literal

import msgspec

from bus.breaker import State as BreakerState
from bus.errors import BusError
from bus.message import Blob, Item, Reply, Request


class UpstreamError(BusError):
    """Base of what can go wrong between us and a server; nothing of it is the server's own answer."""

    code = "upstream_error"


class UpstreamUnavailable(UpstreamError):
    """The server is not there: it cannot be started, or did not come (back) in time. Nothing has run."""

    code = "upstream_unavailable"
    retryable = True


class UpstreamDied(UpstreamError):
    """The server went away while the call was in flight: the call may have run."""

    code = "upstream_died"


class UpstreamResting(UpstreamUnavailable):
    """Its breaker is open: it failed several times in a row and is left alone for a while. Nothing has run."""

    code = "circuit_open"


class UpstreamTimeout(UpstreamError):
    """The server did not answer in its time; it has been told to cancel."""

    code = "upstream_timeout"


class UpstreamInvalid(UpstreamError):
    """The server answered with something that is no result and no error."""

    code = "upstream_invalid"


class ResponseTooLarge(UpstreamError):
    """The answer is over `max_upstream_bytes` and was not kept."""

    code = "response_too_large"


ServerStateName = Literal["starting", "ready", "reconnecting", "failed", "disabled"]


class CallResult(Reply, frozen=True, kw_only=True):
    """What the server answered, as the bytes that came. Exactly one of `result` and `error` is set.

    Attributes:
        result: the JSON of the JSON-RPC `result`.
        error: the JSON of the JSON-RPC `error` object (code, message, data of the server itself).
        cached: answered without asking the server.
        upstream_ms: time between writing the request to the server and its answer.
        retries: how often the call was sent again (reads only).
    """

    result: Blob | None = None
    error: Blob | None = None
    cached: bool = False
    upstream_ms: float = 0.0
    retries: int = 0


class Progress(Item, frozen=True, kw_only=True):
    """One progress notification of the call; `params` is its JSON without `progressToken`."""

    params: bytes


class CallTool(Request[CallResult], frozen=True, kw_only=True):
    """Calls a tool on a server.

    Attributes:
        server: the server's name in the configuration.
        tool: the server's own name for the tool.
        params: JSON object, the `params` of `tools/call` apart from `name` (arguments, foreign `_meta`, …).
        progress: relay `notifications/progress` as `Progress` items.
        session: the gateway session that calls.
        capabilities: JSON of what the client declares it can be asked; empty = nothing.
        log_level: least level of log messages that the client wants with this very call; empty = none.
        handshake: the client is of the handshake era; a server of its own is spoken to in that one, if it knows it.

    Raises:
        UpstreamUnavailable: the server is down; UpstreamResting: its breaker is open;
        UpstreamTimeout: it did not answer in its time;
        UpstreamDied: it went away while the call was in flight (the call may have run);
        ResponseTooLarge: over `max_upstream_bytes`.
    """

    actor = "upstream"
    reply = CallResult
    item = Progress

    server: str
    tool: str
    params: Blob
    progress: bool = False
    session: str = ""
    capabilities: bytes = b""
    log_level: str = ""
    handshake: bool = False


class ToolEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One advertised tool.

    Attributes:
        name: the advertised name, unique.
        server, tool: where a call goes.
        definition: the tool's JSON as the client shall see it (name, title, annotations adapted; schemas untouched).
        input_schema: the schema's JSON, byte-equal to the server's.
        description: effective text.
        upstream_description: the server's own text when an override replaced it.
        alias_of: the name that did not fit, if `name` is an alias.
        read_only: declares `readOnlyHint: true` without `destructiveHint: true`.
        writes: declares `readOnlyHint: false` or `destructiveHint: true`.
        flagged: code for which the profile `review` demotes it in rankings by `penalty` (0 to 1); empty = it does not.
    """

    name: str
    server: str
    tool: str
    definition: bytes
    input_schema: bytes
    description: str = ""
    upstream_description: str = ""
    alias_of: str = ""
    read_only: bool = False
    writes: bool = False
    flagged: str = ""
    penalty: float = 0.0


class Withheld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A discovered tool that is not advertised, and why (`reason` is a code, `detail` for people)."""

    server: str
    tool: str
    reason: str
    detail: str = ""


class OwnServers(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The connections of `session: dedicated` that clients have at the moment.

    Attributes:
        running / down: how many there are, and how many of them are not ready; those that start are.
        resting: those whose breaker is not closed; `failures`: in a row, the most of any; `next_try_seconds`: the
            shortest wait of any that is open.
        error / error_type: as of a server, of the one that went down last.
    """

    running: int
    down: int = 0
    resting: int = 0
    failures: int = 0
    next_try_seconds: float = 0.0
    in_flight: int = 0
    error: str = ""
    error_type: str = ""


class ServerState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One upstream server as it is now.

    Attributes:
        error: the last failure in one line, without secrets; empty when well.
        error_type: its type only, e.g. `FileNotFoundError`.
        since: UTC seconds of the last change of state.
        discovered / exposed: numbers of tools.
        restarts: reconnects since the actor started.
        junk_lines / stderr_bytes: noise counted on stdout and stderr.
        instructions: what the server said about itself in `initialize`.
        breaker: of its calls; `failures`: in a row; `next_try_seconds`: until an open breaker lets a probe through.
        replacement: how its changed connection does, which takes over as soon as it works; empty = there is none.
            `replacement_error` and `replacement_error_type` are as `error` and `error_type`.
        own: connections of clients' own; `None` when there are none.
    """

    name: str
    prefix: str
    state: ServerStateName
    transport: str = "stdio"
    error: str = ""
    error_type: str = ""
    since: float = 0.0
    discovered: int = 0
    exposed: int = 0
    restarts: int = 0
    in_flight: int = 0
    pid: int = 0
    junk_lines: int = 0
    stderr_bytes: int = 0
    server_info: str = ""
    protocol_version: str = ""
    instructions: str = ""
    breaker: BreakerState = "closed"
    failures: int = 0
    next_try_seconds: float = 0.0
    replacement: ServerStateName | Literal[""] = ""
    replacement_error: str = ""
    replacement_error_type: str = ""
    own: OwnServers | None = None


ToolgraphStateName = Literal["asking", "ready", "unreachable", "protocol_error", "agent_not_found"]


class ToolgraphState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tool-graph provider as it is now.

    Attributes:
        error: why its last answer is missing, in one line, without secrets; empty when well.
        graph_generation: of the answer in force; `None` = there is none.
        rejected: tools that the answer in force rejects.
        kept: the answer in force is of an earlier run.
        withholds_all: for want of an answer, no tool of any server is shown.
        since: UTC seconds of the last change of state.
    """

    state: ToolgraphStateName
    error: str = ""
    graph_generation: int | None = None
    rejected: int = 0
    kept: bool = False
    withholds_all: bool = False
    since: float = 0.0
    pid: int = 0


class Catalogue(Reply, frozen=True, kw_only=True):
    """Everything advertised. `generation` changes when, and only when, the advertised bytes change.

    Attributes:
        toolgraph: the tool-graph provider; `None` when none is asked.
    """

    generation: str
    tools: tuple[ToolEntry, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    servers: tuple[ServerState, ...] = ()
    config_error: str = ""
    toolgraph: ToolgraphState | None = None


class WatchCatalogue(Request[Catalogue], frozen=True, kw_only=True):
    """Streams the catalogue: the present one, as soon as it is worth showing (`actors.upstream.starting` says when),
    and each change after that, debounced."""

    actor = "upstream"
    reply = Catalogue
    idempotent = True


class GetServers(Request[Catalogue], frozen=True, kw_only=True):
    """The catalogue and the state of every server at this moment."""

    actor = "upstream"
    reply = Catalogue
    idempotent = True


class Cleared(Reply, frozen=True, kw_only=True):
    """How many cached responses went."""

    entries: int


class ClearCache(Request[Cleared], frozen=True, kw_only=True):
    """Forgets cached responses, in memory and on disk.

    Attributes:
        server / tool: only those of this server and of its tool (the server's own name); empty = all.

    Raises:
        Refused: there is no such server or tool.
    """

    actor = "upstream"
    reply = Cleared
    idempotent = True

    server: str = ""
    tool: str = ""


class CacheStats(Reply, frozen=True, kw_only=True):
    """The response cache now, and what it did since the actor started.

    Attributes:
        entries / bytes: kept, in memory or on disk; the JSON of the results.
        in_memory: entries that need no disk.
        hits / misses: of calls that may be cached; `shared`: misses that waited for an identical call in flight.
        sensitive: answers not kept since they look like a credential.
        by_tool: entries by server and tool, most first.
        error: why nothing is kept on disk; empty when it is.
        set_aside: where a corrupt file was moved; empty if there was none.
    """

    entries: int = 0
    bytes: int = 0
    in_memory: int = 0
    hits: int = 0
    misses: int = 0
    shared: int = 0
    sensitive: int = 0
    by_tool: tuple[tuple[str, str, int], ...] = ()
    error: str = ""
    set_aside: str = ""


class GetCacheStats(Request[CacheStats], frozen=True, kw_only=True):
    actor = "upstream"
    reply = CacheStats
    idempotent = True


class Authorize(Item, frozen=True, kw_only=True):
    """The person has to open `address` and agree there."""

    address: str


class LoggedIn(Reply, frozen=True, kw_only=True):
    """The login worked; `file` holds its tokens."""

    file: str


class LogIn(Request[LoggedIn], frozen=True, kw_only=True):
    """Logs in at a server behind HTTP (OAuth). Emits `Authorize` when a person is needed.

    Raises:
        UpstreamUnavailable: no such server; Refused: it asks for no login, or refuses it.
    """

    actor = "upstream"
    reply = LoggedIn
    item = Authorize

    server: str
