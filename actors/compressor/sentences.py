"""Sentences of paragraphs that are mostly written from a few forms, as reports of routine are: the one that says
something else is what such a report is read for."""

from __future__ import annotations

import re

from actors.compressor.statements import rare, shapes_of, statements
from actors.compressor.units import Units, split

_END = re.compile(r"(?<=[.!?;])[ \t]+(?=\S)|(?<=[。！？])|\n+")
_FEWEST, _SAMPLED = 40, 80
_A_LINE = 1.0
"""Sentences that end within a line, in the mean, from which on its beginning says too little about them."""
_LIKE = 0.5
"""Share of sampled sentences that begin like another one, from which on they may be from forms."""
_BEGINNING = 12
_DIGITS = str.maketrans("", "", "0123456789")
_MOST = 0.2
"""Of the units; where more hold an odd sentence, that says nothing."""


def unlike(units: Units) -> list[int]:
    """Units with a sentence of a form that hardly any other has, where most sentences are of a few forms."""
    text = units.text
    ends = text.count(". ") + text.count("。")
    if ends < max(_FEWEST, _A_LINE * len(units)):
        return []
    parts = _END.split(text)
    sample = [part[:_BEGINNING].translate(_DIGITS) for part in parts[:: 1 + len(parts) // _SAMPLED] if part]
    if len({*sample}) > _LIKE * len(sample):
        return []
    starts = [match.end() for match in _END.finditer(text)]
    kept = [(start, part) for start, part in zip([0, *starts], parts, strict=True) if part.strip()]
    sentences = split("\n".join([part for _, part in kept]), longest=len(text))
    found = {units.at(kept[at][0]) for at in rare(statements(sentences, shapes_of(sentences)))}
    return sorted(found) if len(found) <= _MOST * len(units) else []
