"""The answers of HTTP in a log: the number alone tells the one that failed from all others."""

from __future__ import annotations

from collections import defaultdict

import re2

from actors.compressor.units import Units

_STATE = re2.compile(
    rb"(?:\" |=> \[?|HTTP/[0-9.]+\"? |[Ss]tatus(?:[ _]?[Cc]ode)?\"?[=:] ?|\| +|\[[a-z]{4,12} - )"
    rb"([13-5][0-9][0-9]|20[1-9]|2[1-9][0-9])(?:[\] |,;\"\n]|$)"
)
"""A state other than 200, which most requests end with."""
_MARKS = ('" ', "=> ", "=> [", "=", ": ", "| ", "HTTP/1.1 ", "HTTP/2 ", "HTTP/2.0 ", "[success - ")
_MOST_OF_STATE = 3
_FEWEST, _SELDOM = 30, 0.02
_FAILED = b"4"


def states(units: Units) -> list[int]:
    """The first lines of each state that few requests end with, of those that failed; of others the first one."""
    text = units.text
    # Where none went well, these numbers are something else.
    if len(units) < _FEWEST or not any(f"{mark}200" in text for mark in _MARKS):
        return []
    places: defaultdict[bytes, list[int]] = defaultdict(list)
    for found in _STATE.finditer(text.encode("ascii", "replace")):
        places[found[1]].append(found.start())
    lifted: list[int] = []
    for state, starts in places.items():
        if len(starts) <= max(_MOST_OF_STATE, _SELDOM * len(units)):
            lifted += [units.at(start) for start in starts[: _MOST_OF_STATE if state >= _FAILED else 1]]
    return lifted
