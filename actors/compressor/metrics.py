"""Metrics as Prometheus writes them: the families, the sample far above the others of its family, what is down."""

from __future__ import annotations

import re
from collections import defaultdict

from actors.compressor.excerpt import MUST, SALIENT
from actors.compressor.far import far, largest
from actors.compressor.units import Units

_SAMPLE = re.compile(
    r"([a-zA-Z_:][\w:]*)(?:\{[^\n]*\})? ([-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|Inf|NaN))(?: \d{10,13})?$"
)
_BUCKET = re.compile(r'.*\ble="(?!\+Inf)')
_IS_UP = re.compile(r"(?:\w+_)?up(?:_\w+)?$")
_TYPED = "# TYPE "
_FEWEST_TYPES = 3
_MOST_FAR, _MOST_FAMILIES = 2, 0.35


def metrics(units: Units) -> dict[int, int]:
    """What matters in an exposition of metrics, and its ranks; nothing in other texts."""
    heads = [at for at, line in enumerate(units.contents) if line.startswith(_TYPED)]
    if len(heads) < _FEWEST_TYPES:
        return {}
    found: dict[int, int] = {}
    if units.size(heads) <= _MOST_FAMILIES * len(units.text):
        found |= dict.fromkeys(heads, SALIENT)
    families: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for at, line in enumerate(units.contents):
        match = _SAMPLE.match(line) if line[:1] != "#" and not _BUCKET.match(line) else None
        if match is not None:
            families[match[1]].append((float(match[2]), at))
    for name, samples in families.items():
        numbers = [number for number, _ in samples]
        found |= {samples[at][1]: MUST for at in (far(numbers, above=True) or largest(numbers))[:_MOST_FAR]}
        if _IS_UP.match(name):
            down = [at for number, at in samples if not number]
            found |= dict.fromkeys(down if len(down) < len(samples) else [], MUST)
    return found
