"""Labels and their values in lines: `Package: x`, `<title>z</title>`, `- heading "w"`, and which values are odd."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from actors.compressor.far import far, largest

_LABEL = re.compile(
    r"\s*(?:[-*>|]\s+)?(?:"
    r"<(?P<tag>[A-Za-z][\w:.-]{0,60})(?P<attributes>\s[^>]{0,400})?>"
    r"|(?P<role>[a-z]{2,20}) (?=\"|\[)"
    r"|\\(?P<command>[A-Za-z]{2,20})\*?(?=[{\[])"
    r"|(?![0-9a-fA-F]{2}:)[\"']?(?P<key>[A-Za-z_/.$@][\w ./()$@-]{0,47}?)[\"']?(?:;[^:\n]{0,60})?\s*(?::(?!//)|=(?!=))"
    r")\s*"
)
_FEW_VALUES = 12
RARE = 0.02
_TWO, _FEWEST_OF_TWO = 2, 8
"""Where a label has two values, fewer of its lines show that one of them is the odd one."""
MOST_ODD = 10
_FEWEST_ALIKE = 20
"""Lines of a label from which on a value that hardly any other has is odd."""


def labelled(line: str) -> re.Match[str] | None:
    """The label that a line begins with. To see that there is no mark of any takes less time than the expression."""
    if ":" in line or "=" in line or '"' in line or "<" in line or "[" in line or "\\" in line:
        return _LABEL.match(line)
    return None


def read(line: str) -> tuple[str, str]:
    match = labelled(line)
    if match is None:
        return "", line.strip()
    label = match["tag"] or match["role"] or match["command"] or match["key"]
    value = line[match.end() :].rstrip(" \t\r,;")
    if match["role"]:
        value = value.partition(" [")[0]
    elif match["tag"]:
        value = value[: value.rfind("</")] if value.endswith(">") and "</" in value else value
        value = f"{match['attributes'].strip()} {value}" if match["attributes"] else value
    return label.lower(), value


def odd(places: dict[str, list[int]], found: Sequence[tuple[str, str]]) -> list[int]:
    """Lines with a value that hardly any other of their label has, where there are few values; rarest first."""
    rare: list[tuple[int, int]] = []
    for indices in places.values():
        if len(indices) < _FEWEST_OF_TWO:
            continue
        values = Counter(found[at][1] for at in indices)
        if len(indices) < _FEWEST_ALIKE and len(values) != _TWO:
            rare += [(1, at) for at in _far([found[at][1] for at in indices], indices)]
        elif 2 <= len(values) <= _FEW_VALUES:
            most = max(1, int(RARE * len(indices)))
            rare += [(values[found[at][1]], at) for at in indices if values[found[at][1]] <= most]
        elif len(values) > _FEW_VALUES:
            rare += [(1, at) for at in _far([found[at][1] for at in indices], indices)]
    return [at for _, at in sorted(rare)[:MOST_ODD]]


def _far(values: list[str], indices: list[int]) -> list[int]:
    """Where a number stands that is far above all others of its label."""
    numbers = []
    for value in values:
        head = value.partition(" ")[0].replace(",", "")
        if not head.replace(".", "", 1).isdecimal() or len(head) > 15:
            return []
        numbers.append(float(head))
    return [indices[at] for at in (far(numbers, above=True) or largest(numbers))[:2]]
