"""One response: several texts and a structured copy share one budget; what is left out gets a key and a note.

Pure: nothing is stored here. The plan says what must be stored before its texts may be shown, and what to deliver when
that fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from actors.compressor import jsontext, note
from actors.compressor.budget import Budget
from actors.compressor.choose import Summarise, clamp, head, shorten, soft_target
from actors.compressor.clean import Cleaned, clean
from actors.compressor.detect import Kind, Seen, look
from actors.compressor.messages import Compress, Compressed, Policy
from actors.compressor.note import Ticket
from actors.compressor.pages import valid
from actors.compressor.strategies import contents
from actors.compressor.strategies.task import Draft, Task
from bus.message import Blob
from config.tokens import cost, estimate_tokens

LEAST_SAVING = 0.1
"""Between `untouched_chars` and the budget a text is only touched for at least this share of its tokens."""
_SMALLEST_SHARE = Budget(700, 160)
_KEPT_BESIDE = 0.25
_FLOOR_BESIDE = 0.2
_LONGEST_COPY = 8
_SHORT_SAID = 40

Issue = Callable[[str, int], Ticket]
"""Gives the ticket of an original: its text and its time to live in seconds."""


@dataclass(frozen=True)
class Original:
    """A text that must be stored before the reply is sent; `chunk` is the slice length of `progressive`, else 0."""

    text: str
    ticket: Ticket
    chunk: int = 0


@dataclass(frozen=True)
class Plan:
    """What to deliver, what to store first, and what to deliver when storing fails."""

    reply: Compressed
    originals: tuple[Original, ...]
    whole: Compressed


@dataclass
class _Block:
    """One text on its way. `out` is `None` while it stays as it came."""

    raw: str
    seen: Seen | None = None
    cleaned: Cleaned | None = None
    out: str | None = None
    path: str = "none"
    original: Original | None = None

    @property
    def light(self) -> str:
        """The text without anything lost that matters: as it came, or cleaned."""
        return self.raw if self.out is None else self.out

    @property
    def source(self) -> str:
        return self.raw if self.cleaned is None else self.cleaned.text

    @cached_property
    def safe(self) -> str:
        """The text as valid UTF-8."""
        return valid(self.raw)

    @cached_property
    def size(self) -> Budget:
        return Budget.of(self.raw)

    @cached_property
    def source_size(self) -> Budget:
        return self.size if self.source is self.raw else Budget.of(self.source)

    @property
    def light_tokens(self) -> float:
        return self.size.tokens if self.out is None else cost(self.out)


@dataclass
class _Response:
    blocks: list[_Block]
    structured: str
    policy: Policy
    query: str
    issue: Issue
    budget: Budget
    summarise: Summarise | None = None
    keep_structured: bool = True
    structured_ticket: Ticket | None = None
    originals: list[Original] = field(default_factory=list)


def plan(request: Compress, issue: Issue, summarise: Summarise | None = None) -> Plan:
    """Works out the answer to a `Compress` request; never raises for any content of its texts.

    Args:
        summarise: serves the strategy `llm_summary`.
    """
    policy = request.policy
    budget = Budget(max(1, policy.max_chars), max(1, policy.max_tokens))
    if not request.texts and request.structured is not None and not policy.keep_structured:
        return _structured_only(request, issue, budget, summarise)
    texts = [read(blob) for blob in request.texts]
    structured = read(request.structured) if request.structured is not None else ""
    response = _Response([_Block(text) for text in texts], structured, policy, request.query, issue, budget, summarise)
    if policy.strategy != "none":
        for block in response.blocks:
            _lighten(block, response)
        _settle_structured(response)
        _settle_texts(response)
        _add_structured_note(response)
    originals = [block.original for block in response.blocks if block.original is not None] + response.originals
    keys = tuple(dict.fromkeys(original.ticket.key for original in originals))
    reply = _reply(response.blocks, structured, response.keep_structured, keys)
    return Plan(reply, tuple(originals), _whole(reply))


def _structured_only(request: Compress, issue: Issue, budget: Budget, summarise: Summarise | None) -> Plan:
    """A response that says all in its structured content: above the budget, a text stands for it."""
    structured = read(request.structured) if request.structured is not None else ""
    kept = _reply([], structured, True)
    if budget.fits(structured):
        return Plan(kept, (), kept)
    made = plan(msgspec.structs.replace(request, texts=(Blob.of(structured),), structured=None), issue, summarise)
    text = made.reply.texts[0]
    if text is None:
        return Plan(kept, (), kept)
    reply = msgspec.structs.replace(made.reply, texts=(), keep_structured=False, stand_in=text)
    return Plan(reply, made.originals, msgspec.structs.replace(kept, store_failed=True))


def read(blob: Blob) -> str:
    """The text of a block; bytes that are not UTF-8 become U+FFFD."""
    try:
        return blob.text
    except UnicodeDecodeError:
        return blob.data.decode("utf-8", "replace")


def _lighten(block: _Block, response: _Response) -> None:
    """CLEAN alone, where it saves enough; `progressive` slices the raw text instead."""
    policy = response.policy
    if len(block.raw) <= policy.untouched_chars:
        return
    block.seen = look(block.safe)
    if policy.strategy == "progressive" and len(block.raw) > policy.progressive.chunk_size:
        return
    block.cleaned = clean(block.safe, block.seen, policy.cleaning)
    text, tokens = block.cleaned.text, block.source_size.tokens
    original = None
    if block.cleaned.dropped:
        ticket = response.issue(block.raw, policy.progressive.ttl_seconds)
        beside = f"\n{note.shortened('cleaned, ' + ', '.join(block.cleaned.dropped), ticket)}"
        text, tokens = text + beside, tokens + cost(beside)
        original = Original(block.raw, ticket)
    if tokens <= (1 - LEAST_SAVING) * block.size.tokens and len(text) <= len(block.raw):
        block.out, block.path, block.original = text, "clean", original


def _settle_structured(response: _Response) -> None:
    """Decides what becomes of `structuredContent`, and takes it off the budget of the texts where it stays."""
    structured, budget = response.structured, response.budget
    if not structured:
        return
    size = Budget.of(structured)
    if response.policy.keep_structured:
        # Pass-through was asked for: the texts keep a share to say where the rest is, even if the copy is too long.
        least = budget.scaled(_FLOOR_BESIDE)
        left = budget.minus(structured)
        response.budget = Budget(max(left.chars, least.chars), max(left.tokens, least.tokens))
        return
    texts = [block.light for block in response.blocks]
    if _fit(texts, budget.minus(structured)) and size.chars <= budget.chars and size.tokens <= budget.tokens:
        response.budget = budget.minus(structured)
        return
    # Only white space and a wrapper can make a copy longer than its text, so most texts need no comparison.
    likely = [block.raw for block in response.blocks if len(block.raw) * _LONGEST_COPY >= len(structured)]
    copy = any(_is_copy(structured, text) for text in likely)
    if not copy and size.chars <= _KEPT_BESIDE * budget.chars and size.tokens <= _KEPT_BESIDE * budget.tokens:
        response.budget = budget.minus(structured)
        return
    response.keep_structured = False
    if not copy:
        ticket = response.issue(structured, response.policy.progressive.ttl_seconds)
        response.structured_ticket = ticket
        response.originals.append(Original(structured, ticket))
        response.budget = budget.minus("\n" + note.structured_left_out(len(structured), ticket))


def _is_copy(structured: str, text: str) -> bool:
    """Whether the structured content only repeats the text: equal JSON, or the text wrapped in one member."""
    if jsontext.equal(structured, text):
        return True
    data = jsontext.parse(structured)
    if data is None or data[:1] != b"{":
        return False
    members = list(jsontext.Node(data).members.values())
    if len(members) != 1:
        return False
    inner = members[0].raw
    return jsontext.string(inner) == text if inner[:1] == b'"' else jsontext.equal(inner.decode(), text)


def _settle_texts(response: _Response) -> None:
    """Shortens what does not fit: small texts stay, long ones share what is left."""
    blocks, policy = response.blocks, response.policy
    progressive = [
        block
        for block in blocks
        if policy.strategy == "progressive"
        and len(block.raw) > max(policy.progressive.chunk_size, policy.untouched_chars)
    ]
    if not progressive and _fit([block.light for block in blocks], response.budget):
        return
    shares = _shares(blocks, response.budget)
    if len(blocks) > 1 and any(
        _too_small(share, block, response.budget) for share, block in zip(shares, blocks, strict=True)
    ):
        _keep_first_blocks(response)
    else:
        for block, share in zip(blocks, shares, strict=True):
            room = response.budget.scaled(share)
            if block in progressive or not room.fits(block.light):
                _shorten(block, room, response)


def _too_small(share: float, block: _Block, budget: Budget) -> bool:
    room = budget.scaled(share)
    small = room.chars < _SMALLEST_SHARE.chars or room.tokens < _SMALLEST_SHARE.tokens
    return small and not room.fits(block.light)


def _shares(blocks: list[_Block], budget: Budget) -> list[float]:
    """How the budget is shared out: a text that needs less than an equal share gets what it needs, and leaves the rest
    to the others. Each share is of characters and tokens alike."""
    needs = [max(len(block.light) / budget.chars, block.light_tokens / budget.tokens) for block in blocks]
    shares = [0.0] * len(blocks)
    left, waiting = 1.0, sorted(range(len(blocks)), key=lambda at: needs[at])
    while waiting:
        at = waiting.pop(0)
        # The margin keeps a text that fits its share exactly from failing on a rounded sum.
        shares[at] = min(needs[at] * (1 + 1e-9), left / (len(waiting) + 1))
        left -= shares[at]
    return shares


def _shorten(block: _Block, room: Budget, response: _Response) -> None:
    """Replaces a text by a draft that fits `room`, note included, and that is not larger than the text."""
    policy = response.policy
    ticket = response.issue(block.raw, policy.progressive.ttl_seconds)
    room = room.capped(block.size)
    safe = block.safe
    seen = block.seen or look(safe)
    raw_kind = seen.kind
    kind, source = (block.cleaned.kind, block.cleaned.text) if block.cleaned is not None else (raw_kind, safe)
    whole = policy.strategy == "progressive"
    # A slice and a table of contents say themselves how to read on; everything else leaves room for a note.
    budget = room if whole or policy.strategy == "selective" else room.minus(note.widest(ticket))
    soft = soft_target(block.source_size, budget)
    task = Task(safe, source, kind, budget, soft, response.query, policy, ticket.key, ticket.ttl, seen.document)
    draft = (
        replace(contents.progressive(task, raw_kind), path="progressive")
        if whole
        else shorten(task, raw_kind, response.summarise)
    )
    if draft.noted and not room.fits(draft.text):
        # Not even the shortest slice or table of contents fits beside its own directions.
        draft = replace(head(task), path=f"{draft.path}→truncate")
    if kind in (Kind.JSON, Kind.NDJSON) and not draft.text.strip():
        draft = _smallest(task, room, raw_kind, ticket) or draft
    block.out, block.path = _finish(draft, task, room, block, ticket), draft.path
    chunk = policy.progressive.chunk_size if "progressive" in draft.path else 0
    needed = not draft.complete or bool(block.cleaned and block.cleaned.dropped)
    block.original = Original(block.raw, ticket, chunk) if needed else None


def _smallest(task: Task, room: Budget, raw_kind: Kind, ticket: Ticket) -> Draft | None:
    """JSON that still fits where the room for the longest note leaves none, beside a short note."""
    left = room.minus("\n" + note.shortened("long" * (_SHORT_SAID // 4), ticket))
    draft = shorten(replace(task, budget=left, soft=left), raw_kind)
    return draft if jsontext.valid(draft.text) and len(draft.said) <= _SHORT_SAID else None


def _finish(draft: Draft, task: Task, room: Budget, block: _Block, ticket: Ticket) -> str:
    """The draft with its note; a smaller one where both together are too long after all."""
    if draft.noted:
        return draft.text
    dropped = block.cleaned.dropped if block.cleaned is not None else ()
    if draft.complete and not dropped:
        return draft.text
    said = ", ".join(part for part in (draft.said, f"cleaned: {', '.join(dropped)}" if dropped else "") if part)
    text = f"{draft.text}\n{note.shortened(said, ticket)}"
    if room.fits(text) or task.policy.retention_floor > 0:
        return text
    line = note.shortened(head(replace(task, budget=room.minus(note.widest(ticket)))).said, ticket)
    short = head(replace(task, budget=room.minus(line + "\n")))
    text = f"{short.text}\n{line}" if short.text else line
    return clamp(text, room)


def _keep_first_blocks(response: _Response) -> None:
    """Too many texts for a share each: the first ones as they are, the rest behind one key."""
    blocks = response.blocks
    joined = "\n".join(block.raw for block in blocks)
    ticket = response.issue(joined, response.policy.progressive.ttl_seconds)
    left_for_note = Budget.of(note.blocks_left_out(len(blocks), len(blocks), ticket)).capped(response.budget)
    left = response.budget.minus(note.blocks_left_out(len(blocks), len(blocks), ticket))
    for at, block in enumerate(blocks):
        if not left.fits(block.light):
            for other in blocks[at:]:
                other.out, other.path, other.original = "", "truncate", None
            block.out = clamp(note.blocks_left_out(at, len(blocks), ticket), left_for_note)
            response.originals.append(Original(joined, ticket))
            return
        left = left.minus(block.light)


def _add_structured_note(response: _Response) -> None:
    if response.structured_ticket is not None:
        last = response.blocks[-1]
        text = last.safe if last.out is None else last.out
        last.out = f"{text}\n{note.structured_left_out(len(response.structured), response.structured_ticket)}"
        last.path = "structured" if last.path == "none" else last.path


def _fit(texts: list[str], budget: Budget) -> bool:
    return sum(map(len, texts)) <= budget.chars and sum(map(cost, texts)) <= budget.tokens


def _whole(reply: Compressed) -> Compressed:
    """The reply where nothing could be stored: everything as it came."""
    return msgspec.structs.replace(
        reply,
        texts=(None,) * len(reply.texts),
        keep_structured=True,
        strategy="none",
        keys=(),
        cleaned_chars=reply.original_chars,
        delivered_chars=reply.original_chars,
        delivered_tokens=reply.original_tokens,
        store_failed=True,
    )


def _reply(blocks: list[_Block], structured: str, keep_structured: bool, keys: tuple[str, ...] = ()) -> Compressed:
    paths = list(dict.fromkeys(block.path for block in blocks if block.path != "none"))
    copied = estimate_tokens(structured)
    return Compressed(
        texts=tuple(None if block.out is None else Blob.of(block.out) for block in blocks),
        keep_structured=keep_structured,
        strategy="+".join(paths) or "none",
        keys=keys,
        original_chars=sum(len(block.raw) for block in blocks) + len(structured),
        cleaned_chars=sum(len(block.source) for block in blocks) + len(structured),
        delivered_chars=sum(len(block.light) for block in blocks) + keep_structured * len(structured),
        original_tokens=sum(math.ceil(block.size.tokens) for block in blocks) + copied,
        delivered_tokens=sum(math.ceil(block.light_tokens) for block in blocks) + keep_structured * copied,
    )
