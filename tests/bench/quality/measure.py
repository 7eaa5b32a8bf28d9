"""Runs payloads through the compressor and its follow-ups, as a client would."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from actors.compressor.compress import plan
from actors.compressor.entry import Entry
from actors.compressor.messages import Compress, Policy, ReadMore
from actors.compressor.note import Ticket
from actors.compressor.read import read_more
from bus.message import Blob
from tests.bench.quality.facts import DEEP, SALIENT, Fact, Payload, Shown
from tests.bench.quality.tokens import count_tokens

_KEY = re.compile(r'(?:key="|"selection_key":")([^"]+)"')
_OFFSET = re.compile(r"offset=(\d+)\)\]")
MOST_FOLLOW_UPS = 2

First = Callable[[str, str], str]
"""The first answer for a text and a query (`""` = none)."""
More = Callable[[str, str, int], str]
"""A follow-up: key, `find` words (`""` = page), offset."""


@dataclass(frozen=True)
class Row:
    """What became of one payload.

    Attributes:
        tokens / original: o200k tokens of the first answer and of the payload.
        kept / salient: facts in the first answer; `facts` and `salients` are how many there are.
        recoverable: facts in the first answer or anywhere in the pages behind its key.
        asked / deep: deep facts in the first answer when the query names them, of how many.
        hinted: the same with a query that only has words from around the fact.
        found / sought: missing facts that `find` reached in at most two calls, of how many; `read` is the largest share
            of the original that such a search took.
        ms: CPU time of the first answer.
    """

    kind: str
    tokens: int
    original: int
    kept: int
    facts: int
    salient: int
    salients: int
    recoverable: int
    asked: int
    hinted: int
    deep: int
    found: int
    sought: int
    read: float
    ms: float
    missing: tuple[Fact, ...] = ()
    unasked: tuple[Fact, ...] = ()


def measure(payload: Payload, first: First, more: More) -> Row:
    """One payload through the first answer, the query-aware answers and the follow-ups."""
    began = time.process_time()
    answer = first(payload.text, "")
    ms = (time.process_time() - began) * 1000
    shown = Shown(answer)
    missing = [fact for fact in payload.facts if not shown.has(fact)]
    deep = [fact for fact in payload.facts if fact.cls == DEEP]
    unasked = [fact for fact in deep if not Shown(first(payload.text, fact.named)).has(fact)]
    hinted = sum(Shown(first(payload.text, fact.hint)).has(fact) for fact in deep)
    key = _KEY.search(answer)
    recoverable, found, read = len(payload.facts) - len(missing), 0, 0.0
    if key and missing:
        every = Shown(_pages(key[1], more))
        recoverable += sum(every.has(fact) for fact in missing)
        for fact in missing:
            reached, chars = _search(key[1], fact, more)
            found += reached
            read = max(read, chars / len(payload.text) if reached else 0.0)
    return Row(
        kind=payload.kind,
        tokens=count_tokens(answer),
        original=count_tokens(payload.text),
        kept=len(payload.facts) - len(missing),
        facts=len(payload.facts),
        salient=sum(fact.cls == SALIENT and fact not in missing for fact in payload.facts),
        salients=sum(fact.cls == SALIENT for fact in payload.facts),
        recoverable=recoverable,
        asked=len(deep) - len(unasked),
        hinted=hinted,
        deep=len(deep),
        found=found,
        sought=len(missing),
        read=read,
        ms=ms,
        missing=tuple(missing),
        unasked=tuple(unasked),
    )


def _pages(key: str, more: More) -> str:
    """All pages behind a key, joined without their footers."""
    parts, offset = [], 0
    while True:
        page = more(key, "", offset)
        parts.append(page.rsplit("\n---\n[progressive: ", 1)[0])
        following = _OFFSET.search(page[-300:])
        if following is None or int(following[1]) <= offset:
            return "".join(parts)
        offset = int(following[1])


def _search(key: str, fact: Fact, more: More) -> tuple[bool, int]:
    """Looks for a fact by the words around it: all of them, then the rarest one."""
    chars = 0
    for words in (fact.hint, fact.hint.split(" ")[0])[:MOST_FOLLOW_UPS]:
        answer = more(key, words, 0)
        chars += len(answer)
        if Shown(answer).has(fact):
            return True, chars
    return False, chars


class Pure:
    """The compressor's own entry points, with a store that is a dictionary."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._kept: dict[str, Entry] = {}

    def first(self, text: str, query: str) -> str:
        made = plan(
            Compress(server="s", tool="t", texts=(Blob.of(text),), policy=self._policy, query=query), self._ticket
        )
        for original in made.originals:
            self._kept[original.ticket.key] = Entry(
                original.text, "s", "t", "", chunk=original.chunk, ttl=original.ticket.ttl
            )
        blob = made.reply.texts[0]
        return text if blob is None else blob.text

    def more(self, key: str, find: str, offset: int) -> str:
        request = ReadMore(key=key, find=find, offset=offset)
        return read_more(request, self._kept[key]).text.text

    @staticmethod
    def _ticket(text: str, ttl: int) -> Ticket:
        return Ticket(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20], ttl)
