"""How hard JSON is pruned, in steps from rich to poor."""

from __future__ import annotations

from dataclasses import dataclass

from actors.compressor.strategies.columns import IDENTITY, MINOR, PLAIN, STATE, TEXT

IDENTITY_FLOOR = 160
"""Titles and names are not cut below this many code points while records are listed."""
ALL = 100_000


@dataclass(frozen=True)
class Rung:
    """How hard to prune.

    Attributes:
        text / opaque: longest string with and without spaces, in code points.
        scalars: most plain values kept of one array.
        head / tail: records kept whole at each end.
        rows: most records listed; 0 = no listing, a count stands for them.
        least / columns: lowest field score and most fields that a listing shows.
        members: most members kept of one object.
        depth: containers below this level become a count.
        floor: titles and names are not cut below so many code points while records are listed.
        cap: code points of a record that is kept whole; longer ones are fitted into them.
    """

    text: int
    opaque: int
    scalars: int
    head: int
    tail: int
    rows: int
    least: int = PLAIN
    columns: int = 8
    members: int = 100_000
    depth: int = 12
    floor: int = IDENTITY_FLOOR
    cap: int = 100_000_000


INNER = (
    Rung(text=160, opaque=40, scalars=24, head=1, tail=0, rows=100_000),
    Rung(text=84, opaque=24, scalars=12, head=1, tail=0, rows=100_000, least=TEXT),
    Rung(text=60, opaque=16, scalars=6, head=1, tail=0, rows=100_000, least=STATE, columns=3, floor=120),
    Rung(text=60, opaque=16, scalars=6, head=1, tail=0, rows=100_000, least=IDENTITY, columns=1, floor=120),
    Rung(text=60, opaque=16, scalars=6, head=1, tail=0, rows=100_000, least=IDENTITY, columns=1, floor=96),
    Rung(text=48, opaque=16, scalars=3, head=1, tail=0, rows=100_000, least=IDENTITY, columns=2, floor=72),
    *(
        Rung(text=40, opaque=16, scalars=3, head=0, tail=0, rows=rows, least=IDENTITY, columns=1, floor=floor)
        for rows, floor in ((100_000, 72), (100_000, 40), (400, 40), (160, 40), (64, 40), (24, 40), (8, 40), (3, 40))
    ),
)
"""For lists inside of what is fitted."""


# From rich to poor. Every rung delivers at most the records and values of the one before it; only where texts are too
# long for all records, the first plain fields are tried before these. All that list every record stand together.
# At worst a string that says how much there is, and nothing of it.
_LEAST = (
    Rung(text=8, opaque=8, scalars=3, head=0, tail=0, rows=0, depth=1, members=2),
    Rung(text=8, opaque=8, scalars=3, head=0, tail=0, rows=0, depth=0, members=0),
)
LISTING = (
    Rung(text=600, opaque=120, scalars=400, head=2, tail=1, rows=100_000, least=MINOR, cap=2000),
    Rung(text=300, opaque=80, scalars=300, head=2, tail=1, rows=100_000, least=PLAIN, cap=1600),
    Rung(text=160, opaque=40, scalars=200, head=1, tail=1, rows=100_000, least=PLAIN, cap=1300),
    Rung(text=120, opaque=20, scalars=120, head=1, tail=1, rows=100_000, least=PLAIN, columns=4, cap=1000),
    Rung(text=120, opaque=20, scalars=120, head=1, tail=1, rows=100_000, least=PLAIN, columns=3, cap=1000),
    Rung(text=120, opaque=20, scalars=120, head=1, tail=1, rows=100_000, least=PLAIN, columns=2, cap=1000),
    Rung(text=120, opaque=24, scalars=120, head=1, tail=1, rows=100_000, least=TEXT, cap=1000),
    Rung(text=84, opaque=20, scalars=120, head=1, tail=0, rows=100_000, least=TEXT, cap=800),
    Rung(text=72, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=TEXT, cap=700),
    Rung(text=60, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=TEXT, cap=600),
    Rung(text=60, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=STATE, cap=500),
    Rung(text=60, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=STATE, columns=3, cap=500),
    Rung(text=48, opaque=16, scalars=40, head=1, tail=0, rows=100_000, least=IDENTITY, columns=2, depth=6, cap=400),
    Rung(text=48, opaque=16, scalars=40, head=1, tail=0, rows=100_000, least=IDENTITY, columns=1, depth=6, cap=400),
    *(
        Rung(
            text=40,
            opaque=16,
            scalars=40,
            head=1,
            tail=0,
            rows=100_000,
            least=IDENTITY,
            columns=1,
            depth=6,
            floor=floor,
            cap=400,
        )
        for floor in (110, 80, 56)
    ),
    *(
        Rung(
            text=40,
            opaque=16,
            scalars=max(3, rows // 4),
            head=1,
            tail=0,
            rows=rows,
            least=IDENTITY,
            columns=1,
            members=2 * rows,
            depth=5,
            floor=56,
            cap=300,
        )
        for rows in (2000, 1400, 1000, 700, 500, 400, 320, 260, 210, 170, 140, 110, 90, 70, 50, 35, 24, 16, 10)
    ),
    Rung(text=24, opaque=12, scalars=3, head=1, tail=0, rows=4, least=IDENTITY, columns=1, members=16, depth=3),
    Rung(text=16, opaque=8, scalars=3, head=1, tail=0, rows=0, depth=2, members=8),
    Rung(text=12, opaque=8, scalars=3, head=0, tail=0, rows=0, depth=1, members=5),
    *_LEAST,
)

PRUNING = tuple(
    Rung(text=text, opaque=opaque, scalars=3, head=2, tail=1, rows=0, members=members, depth=depth)
    for text, opaque, members, depth in (
        (100_000_000, 100_000_000, 100_000, 12), (2000, 300, 100_000, 12), (600, 120, 100_000, 12),
        (300, 80, 100_000, 10), (120, 40, 1000, 8),
        (60, 24, 200, 6), (40, 16, 60, 5), (24, 12, 20, 4), (16, 8, 8, 2), (12, 8, 5, 1),
    )
) + _LEAST  # fmt: skip

FIELDS = tuple(
    Rung(text=text, opaque=opaque, scalars=scalars, head=1, tail=0, rows=0, members=100_000, depth=depth)
    for text, opaque, scalars, depth in (
        (600, 120, 20, 8), (300, 80, 10, 6), (120, 40, 6, 5), (80, 32, 4, 4), (60, 24, 3, 3),
        (40, 16, 3, 2), (24, 12, 3, 1),
    )
) + PRUNING[-4:]  # fmt: skip
