"""What every strategy takes and returns."""

from __future__ import annotations

from dataclasses import dataclass

from actors.compressor.budget import Budget
from actors.compressor.detect import Kind
from actors.compressor.messages import Policy


@dataclass(frozen=True)
class Task:
    """One text to be shortened.

    Attributes:
        raw: as it came (lone surrogates replaced, nothing else).
        text: after CLEAN; what the strategies look at, apart from `progressive`.
        budget: the ceiling for the draft, notes already taken off.
        soft: where a draft should end up when what matters fits; never above `budget`.
        cleaned: what CLEAN removed from a text inside of another one, for the note.
        depth: how many texts it stands in.
        document: of JSON the minified document, of lines of JSON as one array.
        key: the recall key that notes and tables of contents show; `ttl` is its time to live in seconds.
    """

    raw: str
    text: str
    kind: Kind
    budget: Budget
    soft: Budget
    query: str
    policy: Policy
    key: str
    ttl: int = 1800
    document: bytes | None = None
    cleaned: tuple[str, ...] = ()
    depth: int = 0


@dataclass(frozen=True)
class Draft:
    """A shortened text.

    Attributes:
        said: what was kept, in the source's units, for the note (`16 of 120 items`).
        complete: nothing was left out; the text only stands in another form.
        noted: it says itself how to read on (footer, table of contents), so no omission note follows.
        path: strategy that really made it, where another one was asked for.
    """

    text: str
    said: str = ""
    complete: bool = False
    noted: bool = False
    path: str = ""
