"""What is reported about a configuration, and the suggestions in it."""

from collections.abc import Iterable
from typing import Literal

import msgspec

Level = Literal["error", "warning", "note"]


class Problem(msgspec.Struct, frozen=True):
    """One finding.

    Attributes:
        level: `error` (a value or entry was left out), `warning` (probably not what was meant), `note`.
        key: key path in the file's terms (`upstream_servers.fs.command`), empty for the file as a whole.
        message: one line with source, key, cause and fix; never a value.
    """

    level: Level
    key: str
    message: str


def printable(text: str) -> str:
    """`text` on one line with control characters escaped, so that a name from a file cannot steer a terminal."""
    return "".join(c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in text)


def did_you_mean(name: str, known: Iterable[str], *, lead: str = "") -> str:
    """`; did you mean X?` when something like `name` is known, else nothing.

    Args:
        lead: what all of them begin with, which must not count as likeness. Of dotted paths, the last part has to be
            alike too: `surfacing.foo` is not meant by `surfacing.rerank`.
    """
    import difflib  # 4 ms that only a mistake pays

    rests = [other.removeprefix(lead) for other in known]
    mine = name.removeprefix(lead)
    last = mine.rpartition(".")[2]
    for close in difflib.get_close_matches(mine, rests, n=5, cutoff=0.6):
        if difflib.get_close_matches(last, [close.rpartition(".")[2]], cutoff=0.6):
            return f"; did you mean {lead}{close}?"
    return ""
