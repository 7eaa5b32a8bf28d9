"""What `proxy_health` says of the servers: their state, and what of their tools is not shown, and why."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from actors.upstream.messages import Catalogue, OwnServers, ServerState, ToolEntry, ToolgraphState, Withheld
from config.problems import printable

MAX_NAMES = 100
OWN_ERRORS = ("ConfigError",)
"""Errors whose text is ours and names keys and variables, never a value; of all others only the type is shown."""


def upstreams(catalogue: Catalogue) -> list[str]:
    """One line for all of them, then each with its own."""
    servers = catalogue.servers
    ready = sum(server.state == "ready" for server in servers)
    discovered = sum(server.discovered for server in servers)
    lines = [
        f"Upstreams: {ready} of {len(servers)} ready; {discovered} tools discovered, {len(catalogue.tools)} exposed"
    ]
    if catalogue.config_error:
        lines.append(f"Configuration error, the last good one stays in force: {printable(catalogue.config_error)}")
    withheld: dict[str, list[Withheld]] = defaultdict(list)
    for tool in catalogue.withheld:
        withheld[tool.server].append(tool)
    aliases: dict[str, list[ToolEntry]] = defaultdict(list)
    for entry in catalogue.tools:
        if entry.alias_of:
            aliases[entry.server].append(entry)
    lines += _toolgraph(catalogue.toolgraph)
    demoted: dict[str, list[ToolEntry]] = defaultdict(list)
    for entry in catalogue.tools:
        if entry.flagged:
            demoted[entry.server].append(entry)
    for server in servers:
        lines += ["", *_server(server, withheld[server.name], aliases[server.name], demoted[server.name])]
    return lines


def _toolgraph(graph: ToolgraphState | None) -> list[str]:
    """The state of the tool-graph provider, if one is asked."""
    if graph is None:
        return []
    parts = [f"Tool-graph provider: {graph.state}"]
    if graph.pid:
        parts.append(f"pid {graph.pid}")
    if graph.graph_generation is not None:
        kept = " (kept from an earlier run)" if graph.kept else ""
        parts.append(f"generation {graph.graph_generation}{kept}, {graph.rejected} tools rejected")
    if graph.withholds_all:
        parts.append("no tool is shown until it answers")
    lines = [" · ".join(parts)]
    if graph.error:
        lines.append(f"  {printable(graph.error)}")
    return lines


def _server(
    server: ServerState, withheld: Sequence[Withheld], aliases: Sequence[ToolEntry], demoted: Sequence[ToolEntry]
) -> list[str]:
    parts = [f"{printable(server.name)}: {server.state}", server.transport]
    if server.prefix != server.name:
        parts.append(f"prefix {server.prefix or '(none)'}")
    if server.pid:
        parts.append(f"pid {server.pid}")
    parts.append(f"{server.discovered} tools discovered, {server.exposed} exposed")
    if server.restarts:
        parts.append(f"{server.restarts} reconnects")
    lines = [" · ".join(parts)]
    if server.error_type and server.state != "ready":
        lines.append(f"  {_failure(server)}")
    if server.breaker != "closed":
        lines.append(f"  circuit breaker {server.breaker}: {server.failures} failures, {_next_try(server)}")
    if server.replacement:
        about = f": {server.replacement_error_type}" if server.replacement_error_type else ""
        lines.append(f"  changed connection {server.replacement}{about}; the old one serves until it works")
    if server.own is not None:
        lines.append(f"  {_own(server.own)}")
    reasons: dict[str, list[str]] = defaultdict(list)
    for tool in withheld:
        about = f" ({printable(tool.detail)})" if tool.reason == "unhealthy" else ""
        reasons[tool.reason].append(printable(tool.tool) + about)
    lines += [f"  withheld {reason} ({len(names)}): {_first(names)}" for reason, names in sorted(reasons.items())]
    lines += [f"  demoted {entry.flagged}: {entry.name}" for entry in demoted]
    lines += [f"  alias {entry.name} of {printable(entry.alias_of)}" for entry in aliases]
    if server.junk_lines:
        lines.append(f"  noise: {server.junk_lines} lines on stdout that were no messages")
    if server.stderr_bytes:
        lines.append(f"  stderr: {server.stderr_bytes:,} bytes, in `mms logs upstream`")
    return lines


def _own(own: OwnServers) -> str:
    parts = [f"connections of clients' own: {own.running}"]
    if own.down:
        parts.append(f"{own.down} down ({own.error_type})")
    if own.resting:
        parts.append(f"{own.resting} resting (circuit breaker; failures in a row: {own.failures})")
    return " · ".join(parts)


def _next_try(server: ServerState) -> str:
    return (
        f"next try in {math.ceil(server.next_try_seconds)} s" if server.next_try_seconds else "the next call tries it"
    )


def _failure(server: ServerState) -> str:
    what = "connection lost" if server.state == "reconnecting" else "startup connect failed"
    if server.error_type in OWN_ERRORS:
        return f"{what}: {server.error_type}: {printable(server.error)}"
    return f"{what}: {server.error_type}"


def _first(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
