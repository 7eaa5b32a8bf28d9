"""How long a tool's answers usually are, learnt from the last few. Pure."""

from __future__ import annotations

from collections import OrderedDict

MOST_TOOLS = 1024
_REMEMBERED = 8
_MASK = (1 << _REMEMBERED) - 1


class Habits:
    """Which tools usually answer at length; the least recently used of many tools is forgotten, and of each tool
    everything but the last eight answers."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, str], int] = OrderedDict()

    def observe(self, server: str, tool: str, *, is_long: bool) -> None:
        """Notes one answer."""
        key = server, tool
        # A leading one marks how many answers the bits below it stand for.
        bits = (self._answers.get(key, 1) << 1) | is_long
        if bits > _MASK * 2 + 1:
            bits = (bits & _MASK) | (_MASK + 1)
        self._answers[key] = bits
        self._answers.move_to_end(key)
        if len(self._answers) > MOST_TOOLS:
            self._answers.popitem(last=False)

    def usually_long(self, server: str, tool: str) -> bool | None:
        """Whether at least half of the remembered answers were long; `None` for a tool that is not known yet."""
        bits = self._answers.get((server, tool))
        if bits is None:
            return None
        return (bits.bit_count() - 1) * 2 >= bits.bit_length() - 1
