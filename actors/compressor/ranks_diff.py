"""How much each line of a diff matters, with the messages of commits before it where there are any."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from actors.compressor.declarations import DECLARED
from actors.compressor.excerpt import MUST, NOISE, SALIENT, USEFUL
from actors.compressor.units import Units

_FILE = ("diff ", "Index: ", "rename ", "copy ", "new file", "deleted file", "Binary ", "Only in ")
_FIRST_CHANGES = 3
"""Changed lines of each hunk that matter more than its others."""


def diff(units: Units) -> list[int]:
    """Files, commits with their subjects, hunks, what is declared anew; then the first changes of each hunk, the other
    changes, messages, context."""
    lines = units.contents
    ranks = [NOISE + 1] * len(lines)
    inside, named, subject, changes = False, False, False, 0
    for index, line in enumerate(lines):
        first = line[:1]
        if first == "@" and line.startswith("@@"):
            ranks[index] = SALIENT + 1
            inside, changes = True, 0
        elif line.startswith("commit "):
            ranks[index] = MUST
            inside, named, subject = False, False, True
        elif line.startswith(_FILE):
            ranks[index] = MUST
            inside, named = False, named or line.startswith("diff ")
        elif line.startswith("--- ") and index + 1 < len(lines) and lines[index + 1].startswith("+++ "):
            # The line of the two names above has said it.
            ranks[index] = NOISE if named else USEFUL
            inside = False
        elif line.startswith("+++ ") and not inside:
            ranks[index] = SALIENT if named else MUST
        elif inside and first in ("+", "-"):
            ranks[index] = USEFUL + (1 if changes < _FIRST_CHANGES and len(line) > 2 else 0)
            changes += 1
        elif subject and line.startswith("    "):
            ranks[index], subject = MUST, False
    for index in _declared(lines):
        if ranks[index] in (USEFUL, USEFUL + 1):
            ranks[index] = SALIENT
    return ranks


def _declared(lines: list[str]) -> list[int]:
    """Lines that declare something and are new."""
    bodies = [line[1:] if line[:1] == "+" else "" for line in lines]
    starts = [0, *accumulate(len(body) + 1 for body in bodies)]
    data = "\n".join(bodies).encode("ascii", "replace")
    return [bisect_right(starts, match.start()) - 1 for form in DECLARED for match in form.finditer(data)]
