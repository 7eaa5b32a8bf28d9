"""BM25 of a call's query against the advertised tools: recorded, never changes what is exposed. Pure, deterministic."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

NO_PENALTIES: Mapping[str, float] = {}
_K1, _B = 1.2, 0.75
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def words(text: str) -> list[str]:
    """Words in lower case, names split at humps and underscores; scripts without spaces as pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(_HUMP.sub(" ", text)):
        folded = word.casefold()
        if _UNSPACED.search(folded) and len(folded) > 2:
            found += [folded[i : i + 2] for i in range(len(folded) - 1)]
        else:
            found.append(folded)
    return found


class ToolIndex:
    """The candidates of one catalogue.

    Args:
        tools: name and text (name and description) of each.
    """

    def __init__(self, tools: Iterable[tuple[str, str]]) -> None:
        self._lengths: dict[str, int] = {}
        self._found: dict[str, dict[str, int]] = defaultdict(dict)
        for name, text in tools:
            counts = Counter(words(text))
            self._lengths[name] = counts.total()
            for word, count in counts.items():
                self._found[word][name] = count
        self._mean = sum(self._lengths.values()) / len(self._lengths) if self._lengths else 1.0

    def rank(self, query: str, most: int, penalties: Mapping[str, float] = NO_PENALTIES) -> list[tuple[str, float]]:
        """Up to `most` tools that hold a word of the query with their scores, best first, ties by name.

        Args:
            penalties: the share of its score that a tool loses in the order (0 to 1); the scores returned are whole.
        """
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(set(words(query))):
            holders = self._found.get(word, {})
            rarity = math.log(1 + (len(self._lengths) - len(holders) + 0.5) / (len(holders) + 0.5))
            for name, count in holders.items():
                norm = _K1 * (1 - _B + _B * self._lengths[name] / self._mean)
                scores[name] += rarity * count * (_K1 + 1) / (count + norm)
        return sorted(scores.items(), key=lambda item: (-item[1] * (1 - penalties.get(item[0], 0.0)), item[0]))[:most]
