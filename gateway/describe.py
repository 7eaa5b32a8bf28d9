"""`stm_proxy_describe_tool`: pages through a tool's full metadata, each page a result of bounded size. Pure."""

from __future__ import annotations

import hashlib

from actors.upstream.messages import ToolEntry
from bus import jsonrpc
from bus.errors import Refused

PARTS = ("description", "input_schema", "upstream_description")
MAX_LIMIT = 16_000
MAX_RESULT_BYTES = 16_384
RESULT_OVERHEAD_BYTES = 200
"""Envelope of the JSON-RPC result around the page's own JSON."""
HINTS = {
    "text": "continue with next_offset and generation; next_offset null means complete",
    "json": "join the text of all pages, then parse as JSON; continue with next_offset and generation",
}


def page(entry: ToolEntry, part: str, offset: int, limit: int, generation: str, upstream_allowed: bool) -> str:
    """JSON of one page.

    Args:
        offset / limit: code points; `limit` is a ceiling.
        generation: token of the pages before; required once `offset` > 0.
        upstream_allowed: the text that an override replaced may be read.

    Raises:
        Refused: an argument does not fit, or the metadata changed since `generation`.
    """
    if part not in PARTS:
        raise Refused(f"part must be one of {', '.join(PARTS)}")
    if not 1 <= limit <= MAX_LIMIT:
        raise Refused(f"limit must be from 1 to {MAX_LIMIT}")
    text = _text(entry, part, upstream_allowed)
    current = hashlib.sha256(f"{entry.name}\0{part}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if generation and generation != current:
        raise Refused("the metadata has changed: start again at offset 0 without generation")
    if offset and not generation:
        raise Refused("generation is required once offset is above 0: pass on the one of the first page")
    if not 0 <= offset <= len(text):
        raise Refused(f"offset must be from 0 to {len(text)}")
    end = min(len(text), offset + limit)
    while True:
        made = _page(entry.name, part, text, offset, end, current)
        # The page is a string inside a result, so it is escaped once more.
        size = len(jsonrpc.encode(made)) + RESULT_OVERHEAD_BYTES
        if size <= MAX_RESULT_BYTES or end - offset <= 1:
            return made
        end = offset + max(1, (end - offset) * MAX_RESULT_BYTES // size - 1)


def _text(entry: ToolEntry, part: str, upstream_allowed: bool) -> str:
    if part == "description":
        return entry.description
    if part == "input_schema":
        return entry.input_schema.decode()
    if not upstream_allowed or not entry.upstream_description:
        raise Refused(
            "upstream_description needs MEMTOMEM_STM_PROXY__RECOVER_UPSTREAM_DESCRIPTION=true and a configured override"
        )
    return entry.upstream_description


def _page(name: str, part: str, text: str, offset: int, end: int, generation: str) -> str:
    kind = "json" if part == "input_schema" else "text"
    fields = {
        "name": name,
        "part": part,
        "text": text[offset:end],
        "format": kind,
        "offset": offset,
        "next_offset": end if end < len(text) else None,
        "total_chars": len(text),
        "generation": generation,
        "response_hint": HINTS[kind],
    }
    return jsonrpc.encode(fields).decode()
