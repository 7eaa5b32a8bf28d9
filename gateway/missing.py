"""What is said about a tool that is not there: whose it would be, why it is not shown, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from actors.upstream.messages import ServerState, Withheld
from config.problems import did_you_mean, printable

HOST_PREFIX = "mcp__"
MAX_CHARS = 100
"""Of a name that is repeated to the caller."""
ADVICE = {
    "config_hidden": "take `hidden` out of its tool_overrides to show it",
    "profile_excluded": "expose_in_profiles and exposure.profile decide about it",
    "sensitive_metadata": "its server has to list it without the credential",
    "invalid_schema": "its server has to list it with another schema",
    "duplicate_name": "give one of the servers another prefix: `mms set NAME prefix=…`",
    "disconnected": "`mms health` says why",
}
"""What to do, by reason; the others say it in their detail."""


class Missing(NamedTuple):
    """A tool that is not shown.

    Attributes:
        server: whose it is, or would be.
        tool: the server's own name of it.
        why: the reason and what to do, in one line.
        is_starting: its server is on its way, so that the tool may be there in a moment.
    """

    server: str
    tool: str
    why: str
    is_starting: bool = False


def explain(name: str, servers: Iterable[ServerState], withheld: Iterable[Withheld]) -> Missing | None:
    """Why a tool of this advertised name is not shown; `None` when no server is known to have it."""
    states = {server.name: server for server in servers}
    for tool in withheld:
        server = states.get(tool.server)
        if server is not None and name == (f"{server.prefix}__{tool.tool}" if server.prefix else tool.tool):
            return Missing(tool.server, tool.tool, _withheld(tool))
    owners = [server for server in states.values() if _may_own(server, name)]
    if not owners:
        return None
    owner = max(owners, key=lambda server: len(server.prefix))
    bare = shown(name.removeprefix(f"{owner.prefix}__" if owner.prefix else ""))
    return Missing(owner.name, bare, _state(owner), owner.state == "starting")


def suggestion(name: str, names: Iterable[str]) -> str:
    """`; did you mean …?`, or nothing."""
    known = list(names)
    bare = name.split("__", 2)[-1] if name.startswith(HOST_PREFIX) else ""
    return f"; did you mean {bare}?" if bare in known else did_you_mean(name, known)


def shown(name: str) -> str:
    """A name of the caller's, fit to be repeated."""
    return printable(name if len(name) <= MAX_CHARS else f"{name[:MAX_CHARS]}…")


def _may_own(server: ServerState, name: str) -> bool:
    """Whether the tool may be one that the server has not listed yet, or lists no more."""
    return server.state != "ready" and name.startswith(f"{server.prefix}__" if server.prefix else "")


def _withheld(tool: Withheld) -> str:
    about = f": {tool.detail}" if tool.detail else ""
    advice = f"; {ADVICE[tool.reason]}" if tool.reason in ADVICE else ""
    return printable(f"the tool {tool.tool} of upstream {tool.server} is withheld ({tool.reason}){about}{advice}")


def _state(server: ServerState) -> str:
    what = f"upstream {server.name} is {'down' if server.state == 'failed' else server.state}"
    cause = f" ({server.error.removeprefix(f'upstream {server.name}: ')})" if server.error else ""
    if server.state == "disabled":
        return f"{what}; `mms enable {server.name}` switches it on"
    if server.state == "starting":
        return (
            f"upstream {server.name} is still starting{cause}; its tools are announced when it is ready, so call again"
        )
    return printable(f"{what}{cause}; it is tried again by itself, and `mms health` says more")
