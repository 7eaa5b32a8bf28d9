"""What the follow-up tools answer for an original that was found."""

from __future__ import annotations

import hashlib

from actors.compressor.budget import Budget
from actors.compressor.detect import detect
from actors.compressor.entry import Entry
from actors.compressor.messages import Page, ReadMore, SelectChunks
from actors.compressor.pages import find, page, select, valid
from actors.compressor.sections import names
from bus.message import Blob

EXPIRED = "this key is unknown or has expired; call the tool again for a fresh response"


def read_more(request: ReadMore, entry: Entry) -> Page:
    """A slice, or the passages that answer `find`."""
    total = len(entry.text)
    budget = Budget(max(1, request.max_chars), max(1, request.max_tokens))
    if request.find.strip():
        made = find(entry.text, request.find, request.key, budget)
        return _page(request.key, entry, made.text, made.start, made.end - made.start)
    if not 0 <= request.offset <= total:
        return _refused(
            request.key,
            entry,
            f"offset {request.offset} is outside of 0 to {total}, the length of this text in characters",
        )
    if request.limit is not None and request.limit < 1:
        return _refused(request.key, entry, f"limit {request.limit} is not a positive number of characters")
    limit = request.limit or entry.chunk or request.max_chars
    hints = names(entry.text, detect(valid(entry.text))) if entry.chunk else ()
    slice_ = page(entry.text, request.offset, limit, request.key, entry.ttl, budget, hints)
    return _page(request.key, entry, slice_.text, slice_.start, slice_.end - slice_.start)


def select_chunks(request: SelectChunks, entry: Entry) -> Page:
    """The named sections."""
    budget = Budget(max(1, request.max_chars), max(1, request.max_tokens))
    text, served, found = select(entry.text, detect(valid(entry.text)), request.sections, request.key, budget)
    return _page(request.key, entry, text, 0, served, is_error=not found)


def unknown(key: str) -> Page:
    """The answer for a key that nothing is kept for."""
    return Page(text=Blob.of(EXPIRED), is_error=True, is_unknown=True, key_digest=digest(key))


def digest(key: str) -> str:
    """What telemetry groups the reads of one response by; the key itself gives access."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _refused(key: str, entry: Entry, why: str) -> Page:
    return _page(key, entry, why, 0, 0, is_error=True)


def _page(key: str, entry: Entry, text: str, offset: int, served: int, is_error: bool = False) -> Page:
    return Page(
        text=Blob.of(text),
        is_error=is_error,
        server=entry.server,
        tool=entry.tool,
        trace_id=entry.trace_id,
        key_digest=digest(key),
        offset=offset,
        served=served,
        total=len(entry.text),
        is_progressive=entry.chunk > 0,
    )
