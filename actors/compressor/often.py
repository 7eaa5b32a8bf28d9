"""Whether enough of some lines pass a test, without asking it of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_ASKED = 20
"""Lines between two looks at whether the answer is certain."""


def often(lines: Sequence[str], test: Callable[[str], object], least: float) -> bool:
    """Whether at least `least` lines pass; no more of them are tested than that takes, up to a few."""
    found, total = 0, len(lines)
    for at in range(0, total, _ASKED):
        if found >= least or found + total - at < least:
            break
        found += len([*filter(test, lines[at : at + _ASKED])])
    return found >= least
