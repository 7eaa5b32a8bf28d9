"""Reading what an LTM answers: tool results, structured and compact searches, abilities."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from actors.surfacer.memory import Memory, memory_id
from bus import jsonrpc
from bus.errors import BusError
from config.credentials import mask

MOST_CHARS = 8000
"""What is read of one memory."""
MOST_ROWS = 100
"""What is read of one answer: an LTM that sends all it has, whatever it was asked for, must not hold up other calls."""
_COMPACT = re.compile(r"^\[(\d+)\] (-?\d+(?:\.\d+)?) \| (.+?)(?: > (.+))?$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[\w-]+:.*\n|[ \t].*\n|- .*\n)*?---[ \t]*(?:\n\s*|\Z)")
"""Properties of the file, which the first piece of a note may begin with."""
_SCRATCH = re.compile(r"^  (\S[^:\n]{0,200}): (.+)$", re.MULTILINE)


class LtmFault(BusError):
    """The LTM answered with an error, or with something unreadable."""

    code = "ltm_fault"


@dataclass(frozen=True, slots=True)
class Found:
    """A search result.

    Attributes:
        scale: what the LTM calls its scores (`rrf`, `bm25`, `dense`, …).
        hints: its warnings about the search.
    """

    memories: tuple[Memory, ...]
    scale: str = ""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the LTM offers.

    Attributes:
        tools: tool name → the parameter names that it advertises; `None` when it advertises no list.
        formats: `search_formats`, empty when it does not say.
        compose / propose: schema versions of `context_compose` and `candidate_propose`, 0 without.
        mode: `runtime_profile.search.effective_mode`, e.g. `bm25_only`.
    """

    tools: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    name: str = ""
    version: str = ""
    formats: frozenset[str] = frozenset()
    compose: int = 0
    propose: int = 0
    mode: str = ""

    def accepts(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """The arguments that the tool advertises: unknown ones are errors at the LTM."""
        known = self.tools.get(tool)
        return {k: v for k, v in arguments.items() if v is not None and (known is None or k in known)}


def text_of(result: bytes) -> str:
    """The text blocks of a `tools/call` result; the JSON of its structured content where it has no text.

    Raises:
        LtmFault: an error result, a text that starts with `Error:`, or neither text nor structured content.
    """
    decoded = _object(result, "result")
    blocks = decoded.get("content")
    texts = (
        [b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str)]
        if isinstance(blocks, list)
        else []
    )
    text = "\n".join(texts)
    if decoded.get("isError") or text.startswith("Error:"):
        raise LtmFault(f"the LTM answered: {mask(text[:300]) or 'an error without text'}")
    if texts:
        return text
    structured = decoded.get("structuredContent")
    if not isinstance(structured, dict):
        raise LtmFault("the LTM answered without text")
    return json.dumps(structured, ensure_ascii=False)


def structured_of(result: bytes) -> dict[str, Any]:
    """`structuredContent` of a result, empty when there is none."""
    found = _object(result, "result").get("structuredContent")
    return found if isinstance(found, dict) else {}


def read_tools(result: bytes) -> tuple[dict[str, frozenset[str] | None], str | None]:
    """A page of `tools/list`: parameter names by tool (`None` where it lists none), and the cursor of the next page.

    An odd tool is left out; it does not cost the others.

    Raises:
        LtmFault: it is no tool list.
    """
    page = _object(result, "tool list")
    listed, cursor = page.get("tools"), page.get("nextCursor")
    if not isinstance(listed, list):
        raise LtmFault("the LTM's tool list is unreadable")
    tools = {}
    for tool in listed:
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            properties = _dict(tool.get("inputSchema")).get("properties")
            tools[tool["name"]] = frozenset(properties) if isinstance(properties, dict) else None
    return tools, cursor if isinstance(cursor, str) else None


def read_search(text: str) -> Found:
    """A `mem_search` answer, structured (one JSON text) or compact.

    Raises:
        LtmFault: it is neither.
    """
    if text.lstrip().startswith("{"):
        decoded = _object(text.encode("utf-8", "replace"), "search result")
        rows = decoded.get("results")
        if not isinstance(rows, list):
            raise LtmFault("the LTM's search result has no list `results`")
        scale = decoded.get("score_scale")
        return Found(
            _memories(rows, content="content", given="chunk_id"),
            scale if isinstance(scale, str) else "",
            _hints(decoded),
        )
    return Found(_compact(text))


def read_compose(text: str) -> Found:
    """A `context_compose` answer: pinned entries first."""
    decoded = _object(text.encode("utf-8", "replace"), "context")
    pinned, retrieved = decoded.get("pinned"), decoded.get("retrieved")
    if not isinstance(retrieved, list):
        raise LtmFault("the LTM's context has no list `retrieved`")
    scale = decoded.get("score_scale")
    memories = _memories(pinned if isinstance(pinned, list) else [], content="content", given="id", pinned=True)
    memories += _memories(retrieved, content="content", given="id")
    return Found(memories, scale if isinstance(scale, str) else "", _hints(decoded))


def read_scratch(text: str) -> tuple[Memory, ...]:
    """The LTM's working memory (`Working memory: N entries`, then `  key: value` lines)."""
    return tuple(
        Memory(id=memory_id(None, m[1], m[2]), text=f"{m[1]}: {m[2]}"[:MOST_CHARS], source="scratch", rank=1000 + i)
        for i, m in enumerate(itertools.islice(_SCRATCH.finditer(text), MOST_ROWS))
    )


def read_abilities(server: Mapping[str, Any], tools: Mapping[str, frozenset[str] | None], version: str) -> Abilities:
    """Abilities from `serverInfo`, the tool list, and the JSON of `mem_do(action="version")` (or empty)."""
    try:
        told = _object(version.encode("utf-8", "replace"), "version") if version else {}
    except LtmFault:
        told = {}
    capabilities = _dict(told.get("capabilities"))
    formats = capabilities.get("search_formats")
    # The public server has the profile beside the capabilities, which hold only its schema version.
    profiles = (_dict(place.get("runtime_profile")) for place in (told, capabilities))
    mode = next((m for profile in profiles if (m := _dict(profile.get("search")).get("effective_mode"))), "")
    return Abilities(
        tools=tools,
        name=str(server.get("name", "")),
        version=str(told.get("version") or server.get("version", "")),
        formats=frozenset(f for f in formats if isinstance(f, str)) if isinstance(formats, list) else frozenset(),
        compose=_schema_version(capabilities, "context_compose"),
        propose=_schema_version(capabilities, "candidate_propose"),
        mode=mode if isinstance(mode, str) else "",
    )


def _schema_version(capabilities: Mapping[str, Any], name: str) -> int:
    found = _dict(capabilities.get(name)).get("schema_version")
    return found if isinstance(found, int) else 0


def _memories(rows: list[Any], *, content: str, given: str, pinned: bool = False) -> tuple[Memory, ...]:
    found = []
    ids: set[str] = set()
    for rank, row in enumerate(rows[:MOST_ROWS]):
        if not isinstance(row, dict) or not isinstance(row.get(content), str):
            continue
        text, source = _FRONT_MATTER.sub("", row[content][:MOST_CHARS]), _str(row.get("source"))
        id_ = memory_id(row.get(given), source, text)
        if id_ in ids:
            # Some number files, not passages. One id for two memories would make one rating a rating of both.
            id_ = memory_id(None, source, text)
        if id_ in ids:
            continue
        ids.add(id_)
        found.append(
            Memory(
                id=id_,
                text=text,
                source=source,
                hierarchy=_str(row.get("hierarchy")),
                namespace=_str(row.get("namespace")),
                score=_number(row.get("score")),
                rank=rank,
                pinned=pinned,
            )
        )
    return tuple(found)


def _compact(text: str) -> tuple[Memory, ...]:
    heads = list(itertools.islice(_COMPACT.finditer(text), MOST_ROWS))
    found = []
    for rank, head in enumerate(heads):
        end = heads[rank + 1].start() if rank + 1 < len(heads) else len(text)
        body = text[head.end() : end].strip()[:MOST_CHARS]
        found.append(
            Memory(memory_id(None, head[3], body), body, head[3], head[4] or "", score=float(head[2]), rank=rank)
        )
    return tuple(found)


def _hints(decoded: Mapping[str, Any]) -> tuple[str, ...]:
    warnings = decoded.get("warnings")
    return tuple(w for w in warnings if isinstance(w, str)) if isinstance(warnings, list) else ()


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        decoded = _leniently(data)
    if not isinstance(decoded, dict):
        raise LtmFault(f"the LTM's {what} is no JSON object")
    return decoded


def _leniently(data: bytes) -> object:
    """What Python's own `json` writes and JSON does not know: NaN, infinities, lone surrogates. `None` = still none."""
    try:
        return json.loads(jsonrpc.repair(data))
    except (ValueError, RecursionError):
        return None


def _number(value: object) -> float:
    """A score; 0 for what is none, or not finite."""
    try:
        number = float(value) if isinstance(value, int | float) else 0.0
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _str(value: object) -> str:
    return value if isinstance(value, str) else " > ".join(map(str, value)) if isinstance(value, list) else ""


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
