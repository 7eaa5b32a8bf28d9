"""What of the discovered tools is advertised, under which name, in which words. Pure.

Schemas pass through as the bytes that came. What is changed in a definition: the name, a title that says which server
it is from, a description that the configuration overrides, and members that strict clients refuse a whole list for.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from actors.upstream.messages import ToolEntry, Withheld
from actors.upstream.references import dangling
from actors.upstream.schemas import with_context_query, without_descriptions
from actors.upstream.sensitive import is_sensitive
from bus import jsonrpc
from config.credentials import mask

MAX_NAME = 64
"""What hosts allow, their own `mcp__<gateway>__` included."""
DEFAULT_CLIENT_SERVER_NAME = "memtomem-stm"
MIN_NAME = 8
"""What an alias needs: a character of the name, a separator, six digits of its hash."""
NO_ROOM = (
    f"hosts allow {MAX_NAME} characters, and MMS_CLIENT_SERVER_NAME leaves none for it; give the gateway a shorter name"
)
CUT_MARK = " …"

OWN_TOOLS = frozenset(
    {
        "stm_proxy_read_more",
        "stm_proxy_select_chunks",
        "stm_proxy_describe_tool",
        "stm_surfacing_feedback",
        "stm_compression_feedback",
        "stm_admin",
        "stm_memory_propose",
    }
)
"""Names of the gateway's own tools, whether a client sees them or not. A server without a prefix may have the same,
such as another gateway, and clients refuse a list in which a name comes twice."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_CUT_OFF = ("execution",)
"""Members that promise what the gateway does not do (tasks)."""


@dataclass(frozen=True)
class Signal:
    """What speaks against a tool at the moment: a reason code, and what people shall know."""

    reason: str
    detail: str


@dataclass(frozen=True)
class Rules:
    """What holds for one tool.

    Attributes:
        keeps_structure: responses are never shortened, so `outputSchema` holds for what the client sees.
        description: replaces the server's text; `None` leaves it.
        max_description: characters.
        excluded_by: the exposure profile that does not show it; empty = none.
        withheld_for: why it is withheld for now; `None` = it is not.
        demoted_for: code for which it is demoted in rankings by `penalty` (0 to 1); empty = it is not.
        adds_context_query / strips_schema: how the advertised schema differs from the server's.
    """

    hidden: bool = False
    keeps_structure: bool = False
    description: str | None = None
    max_description: int = 4000
    excluded_by: str = ""
    withheld_for: Signal | None = None
    demoted_for: str = ""
    penalty: float = 0.0
    adds_context_query: bool = False
    strips_schema: bool = False


@dataclass(frozen=True)
class Discovered:
    """One tool as a server listed it."""

    server: str
    prefix: str
    raw: bytes
    rules: Rules


class _Unfit(Exception):
    """Why a tool cannot be advertised."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.withheld = (reason, detail)


def name_limit(client_server_name: str) -> int:
    """Characters left for a tool name behind the host's prefix."""
    return MAX_NAME - len(f"mcp__{client_server_name}__")


def fit_name(full: str, limit: int) -> str:
    """`full` itself if every host takes it, else a deterministic alias of at most `limit` characters."""
    if len(full) <= limit and not _ODD.search(full):
        return full
    digest = hashlib.sha256(full.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{_ODD.sub('_', full)[: limit - 7]}_{digest}"


def tool_name(raw: bytes) -> str:
    """The name in a tool's JSON without anything that reads as a credential, or a stand-in for one that has none."""
    try:
        return mask(jsonrpc.string(jsonrpc.members(raw)["name"])) or "(unnamed)"
    except (KeyError, msgspec.MsgspecError):
        return "(unnamed)"


def expose(discovered: Iterable[Discovered], limit: int) -> tuple[list[ToolEntry], list[Withheld]]:
    """Splits discovered tools into those to advertise and those withheld with a reason.

    Two tools with one composed name are both withheld: which of them a call would reach must not depend on order.
    The gateway's own tools stay.
    """
    entries: list[ToolEntry] = []
    withheld: list[Withheld] = []
    for found in discovered:
        try:
            entries.append(_entry(found, limit))
        except _Unfit as unfit:
            reason, detail = unfit.withheld
            withheld.append(Withheld(server=found.server, tool=tool_name(found.raw), reason=reason, detail=detail))
    taken = Counter(OWN_TOOLS) + Counter(entry.name for entry in entries)
    for entry in entries:
        if taken[entry.name] > 1:
            detail = f"{taken[entry.name]} tools would be called {entry.name}"
            if entry.name in OWN_TOOLS:
                detail = f"the gateway has a tool {entry.name} of its own"
            withheld.append(Withheld(server=entry.server, tool=entry.tool, reason="duplicate_name", detail=detail))
    return [entry for entry in entries if taken[entry.name] == 1], withheld


def _entry(found: Discovered, limit: int) -> ToolEntry:
    try:
        parts = jsonrpc.members(found.raw)
        own_name = jsonrpc.string(parts["name"])
    except (KeyError, msgspec.MsgspecError):
        raise _Unfit("invalid_schema", "it is not an object with a name") from None
    if not own_name:
        raise _Unfit("invalid_schema", "its name is empty")
    if found.rules.hidden:
        raise _Unfit("config_hidden", "hidden by tool_overrides")
    if found.rules.excluded_by:
        raise _Unfit("profile_excluded", f"expose_in_profiles leaves out the profile {found.rules.excluded_by}")
    if is_sensitive(found.raw):
        raise _Unfit("sensitive_metadata", "its metadata looks as if it carried a credential")
    _check_execution(parts)
    schema = _checked_schema(parts)
    if found.rules.withheld_for is not None:
        raise _Unfit(found.rules.withheld_for.reason, found.rules.withheld_for.detail)
    if limit < MIN_NAME:
        raise _Unfit("name_overflow", NO_ROOM)
    full = f"{found.prefix}__{own_name}" if found.prefix else own_name
    name = fit_name(full, limit)
    upstream_text = _text(parts.get("description"))
    description = _cut(upstream_text if found.rules.description is None else found.rules.description, found.rules)
    hints = _hints(parts.get("annotations"))
    return ToolEntry(
        name=name,
        server=found.server,
        tool=own_name,
        definition=_definition(parts, name, description, found),
        input_schema=schema,
        description=description,
        upstream_description="" if found.rules.description is None else upstream_text,
        alias_of="" if name == full else full,
        read_only=hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True,
        writes=hints.get("readOnlyHint") is False or hints.get("destructiveHint") is True,
        flagged=found.rules.demoted_for,
        penalty=found.rules.penalty,
    )


def _definition(parts: dict[str, msgspec.Raw], name: str, description: str, found: Discovered) -> bytes:
    """The tool's JSON in its own order, adapted."""
    adapted: dict[str, object] = {}
    for key, raw in parts.items():
        if key in _CUT_OFF or _is_null(raw):
            continue
        if key == "name":
            adapted[key] = name
        elif key == "description":
            adapted[key] = description
        elif key == "annotations":
            annotations = _annotations(raw, found.server)
            if annotations is not None:
                adapted[key] = annotations
        elif key == "outputSchema":
            if found.rules.keeps_structure and _is_object_schema(raw):
                adapted[key] = raw
        elif key == "inputSchema" and (found.rules.strips_schema or found.rules.adds_context_query):
            adapted[key] = msgspec.Raw(_schema(bytes(raw), found.rules))
        elif key in ("title", "inputSchema", "icons", "_meta") and not _has_shape(key, raw):
            continue
        else:
            adapted[key] = raw
    if description and "description" not in adapted:
        adapted["description"] = description
    return jsonrpc.encode(adapted)


def _schema(raw: bytes, rules: Rules) -> bytes:
    if rules.strips_schema:
        raw = without_descriptions(raw)
    return with_context_query(raw) if rules.adds_context_query else raw


def _annotations(raw: msgspec.Raw, server: str) -> dict[str, object] | None:
    """Annotations without nulls, their title saying where the tool is from; `None` when they are no object."""
    try:
        parts = jsonrpc.members(raw)
    except msgspec.MsgspecError:
        return None
    adapted: dict[str, object] = {key: value for key, value in parts.items() if not _is_null(value)}
    title = _text(parts.get("title"))
    if title:
        adapted["title"] = f"[{server}] {title}"
    return adapted


def _checked_schema(parts: dict[str, msgspec.Raw]) -> bytes:
    raw = parts.get("inputSchema")
    if raw is None or not _is_object_schema(raw):
        raise _Unfit("invalid_schema", 'its inputSchema is not an object schema ("type": "object")')
    members = jsonrpc.members(raw)
    for key in ("properties", "required"):
        if key in members and _is_null(members[key]):
            raise _Unfit("invalid_schema", f"its inputSchema has {key}: null, for which clients refuse a whole list")
    reference = dangling(jsonrpc.value(raw))
    if reference:
        raise _Unfit("invalid_schema", f"its inputSchema refers to {reference}, which does not exist")
    return bytes(raw)


def _check_execution(parts: dict[str, msgspec.Raw]) -> None:
    raw = parts.get("execution")
    execution = jsonrpc.value(raw) if raw is not None else None
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        raise _Unfit("task_required", "it can only be called as a task, which the gateway does not relay")


def _is_object_schema(raw: msgspec.Raw) -> bool:
    try:
        return _text(jsonrpc.members(raw).get("type")) == "object"
    except msgspec.MsgspecError:
        return False


def _has_shape(key: str, raw: msgspec.Raw) -> bool:
    value = jsonrpc.value(raw)
    if key == "title":
        return isinstance(value, str)
    if key == "icons":
        return isinstance(value, list) and all(isinstance(i, dict) and isinstance(i.get("src"), str) for i in value)
    return isinstance(value, dict)


def _hints(raw: msgspec.Raw | None) -> dict[str, object]:
    value = jsonrpc.value(raw) if raw is not None else None
    return value if isinstance(value, dict) else {}


def _text(raw: msgspec.Raw | None) -> str:
    value = jsonrpc.value(raw) if raw is not None else None
    return value if isinstance(value, str) else ""


def _is_null(raw: msgspec.Raw) -> bool:
    return bytes(raw) == b"null"


def _cut(text: str, rules: Rules) -> str:
    if len(text) <= rules.max_description:
        return text
    return text[: rules.max_description - len(CUT_MARK)] + CUT_MARK
