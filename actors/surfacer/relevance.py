"""How well a memory fits a query, in [0, 1].

An LTM's score orders its hits and says nothing about how well one fits, so relevance is computed here from the query
and the text of the memory alone:

1. each query word that the memory holds counts with its rarity (a prior, corrected by how many of the LTM's hits
   hold it too), more when it stands in the memory's title, heading or file name;
2. *evidence*, the sum, must be enough by itself, from at least two words unless the only one is very rare;
3. *coverage* is the share of the query that the evidence makes up, with long queries capped;
4. relevance = (1 - exp(-evidence / EVIDENCE_SCALE)) * coverage ** COVERAGE_POWER, at least `NAMED_FILE` for a memory
   that names the very file, lowered for other projects and for questions of general knowledge.

The constants were chosen on the labelled situations of tests/bench/surfacing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from actors.surfacer.memory import Memory
from actors.surfacer.query import Query, Term
from actors.surfacer.tokens import INFORMATIVE, UNMISTAKABLE, Script, Token, bigrams, fold, rarity, tokens
from actors.surfacer.vocabulary import CONCEPTS

EVIDENCE_SCALE = 1.2
COVERAGE_POWER = 0.6
LEAST_EVIDENCE = 0.8
LONGEST_QUERY_WEIGHT = 3.5
NAMED_FILE = 0.7
OTHER_PROJECT = 0.6
OF_THE_WORLD = 0.5
"""Factor for questions of general knowledge: two words in common are no evidence there."""
UNKNOWN_PROJECT = 0.9
_TITLE_BONUS = 1.2
_COMMONEST = 0.6
_LONG_MEMORY = 100
_CONCEPT_STRENGTH = 0.8
_PART_STRENGTH = 0.5
_UNMISTAKABLE_COVERAGE = 0.6
_READ_CHARS = 8000
_FEW_HITS = 8
_TWO_SYLLABLES = re.compile(r"[\u3400-\u9fff\uac00-\ud7a3]{2}")
# Technical words that count inside longer ones; shorter ones would be found in words that mean something else.
_INSIDE_WORDS = tuple(
    (word, concept) for word, concept in CONCEPTS.items() if len(word) > 2 or _TWO_SYLLABLES.fullmatch(word)
)


@dataclass(frozen=True, slots=True)
class Features:
    """What a memory's text offers for comparison.

    Attributes:
        words: stems, whole identifiers and concepts of everything.
        title: the same of heading and file name only.
        folded / folded_title: the texts themselves, for Korean, Japanese and Chinese substrings.
    """

    words: frozenset[str]
    title: frozenset[str]
    folded: str
    folded_title: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory and its relevance in [0, 1]; `matched` are the query words that it holds, as stems."""

    memory: Memory
    relevance: float
    matched: frozenset[str]


def score(query: Query, memories: Sequence[Memory], home_namespaces: frozenset[str] = frozenset()) -> list[Scored]:
    """Scores every memory, best first; equal ones stay in the LTM's order.

    Args:
        home_namespaces: namespaces that count as the caller's own, beside `default` and the query's project.
    """
    features = [features_of(memory) for memory in memories]
    strengths = [[_strength(term.token, found.words, found.folded) for term in query.terms] for found in features]
    project = re.compile(rf"(?<![^\W_]){re.escape(query.project)}(?![^\W_])") if query.project else None
    weights = [
        term.weight * _local_rarity(sum(1 for row in strengths if row[i] >= 0.5), len(memories))
        for i, term in enumerate(query.terms)
    ]
    names = "|".join(map(re.escape, query.files))
    file = re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])") if names else None
    generality = OF_THE_WORLD if query.is_of_the_world else 1.0
    scored: list[Scored] = []
    for memory, found, row in zip(memories, features, strengths, strict=True):
        place = f"{fold(memory.namespace)} {fold(memory.source)} {found.folded}"
        is_of_project = project is not None and project.search(place) is not None
        relevance = _relevance(query, weights, row, found, is_of_project=is_of_project)
        if file is not None and file.search(found.folded):
            relevance = max(relevance, NAMED_FILE)
        factor = 1.0 if is_of_project else _foreign_factor(query, memory, home_namespaces)
        scored.append(Scored(memory, relevance * factor * generality, _matched(query, row)))
    return sorted(scored, key=lambda s: (-round(s.relevance, 3), s.memory.rank))


def features_of(memory: Memory) -> Features:
    """Features of a memory, remembered for the ones seen lately."""
    return _features(memory.source, memory.hierarchy, memory.text[:_READ_CHARS])


@lru_cache(maxsize=2048)
def _features(source: str, hierarchy: str, text: str) -> Features:
    name = re.sub(r"\.[A-Za-z0-9]{1,8}$", "", "/".join(re.split(r"[/\\]", source)[-2:]))
    title_text = f"{name} {hierarchy}"
    title = _words(title_text)
    folded_title = fold(title_text)
    return Features(_words(text) | title, title, f"{fold(text)}\n{folded_title}", folded_title)


def _words(text: str) -> frozenset[str]:
    found: set[str] = set()
    for token in tokens(text):
        if token.script is Script.WORD:
            found.add(token.text)
            if token.whole:
                found.add(token.whole)
        elif token.concept:
            found.add(token.concept)
    folded = fold(text)
    if not folded.isascii():
        found.update(concept for word, concept in _INSIDE_WORDS if word in folded)
    return frozenset(found)


def _strength(token: Token, words: frozenset[str], folded: str) -> float:
    """How surely a text, given by its words and itself folded, holds the word: in [0, 1]."""
    if token.script is Script.WORD:
        return 1.0 if token.text in words or (token.whole and token.whole in words) else 0.0
    if token.text in folded:
        return 1.0
    if token.concept and token.concept in words:
        return _CONCEPT_STRENGTH
    pairs = bigrams(token.text)
    share = sum(1 for pair in pairs if pair in folded) / len(pairs)
    if len(pairs) > 1 and share >= 0.6:
        return share
    is_compound = token.script is Script.HANGUL and len(token.text) >= 4
    return _PART_STRENGTH if is_compound and (pairs[0] in folded or pairs[-1] in folded) else 0.0


def _local_rarity(holding: int, hits: int) -> float:
    """A correction in [`_COMMONEST`, 1] from the LTM's own hits: lower for a word that most of them hold."""
    if hits < _FEW_HITS or holding == 0:
        return 1.0
    spread = math.log((hits + 1) / (holding + 0.5)) / math.log(hits + 1)
    return _COMMONEST + (1 - _COMMONEST) * min(1.0, max(0.0, spread))


def _relevance(
    query: Query, weights: Sequence[float], strengths: Sequence[float], found: Features, *, is_of_project: bool
) -> float:
    evidence = total = words = 0.0
    rarest = 0.0
    for term, weight, strength in zip(query.terms, weights, strengths, strict=True):
        total += weight
        if strength <= 0:
            continue
        in_title = _strength(term.token, found.title, found.folded_title) > 0
        evidence += weight * strength * (_TITLE_BONUS if in_title else 1.0)
        words += (1.0 if strength >= 0.6 else 0.5) * _word_count(term) * (1.5 if in_title else 1.0)
        rarest = max(rarest, rarity(term.token))
    evidence *= _focus(found)
    words += 0.5 if is_of_project else 0.0
    if rarest < INFORMATIVE:
        return 0.0
    is_all_asked = query.stage == 2 and len(query.terms) == 1
    if evidence < LEAST_EVIDENCE * (0.5 if is_all_asked else 1) or (
        words < 2 and rarest < UNMISTAKABLE and not is_all_asked
    ):
        return 0.0
    coverage = min(1.0, evidence / min(total, LONGEST_QUERY_WEIGHT))
    if rarest >= UNMISTAKABLE:
        coverage = max(coverage, _UNMISTAKABLE_COVERAGE)
    return float((1 - math.exp(-evidence / EVIDENCE_SCALE)) * coverage**COVERAGE_POWER)


def _word_count(term: Term) -> float:
    """A doubtful pair of Han characters is half a word."""
    return 0.5 if term.token.script is Script.HAN and term.token.whole and not term.token.concept else 1.0


def _focus(found: Features) -> float:
    """Long memories hold any word sooner or later: below 1 past `_LONG_MEMORY` distinct words."""
    size = len(found.words)
    return 1.0 if size <= _LONG_MEMORY else max(0.6, 1 - 0.15 * math.log2(size / _LONG_MEMORY))


def _foreign_factor(query: Query, memory: Memory, home: frozenset[str]) -> float:
    namespace = fold(memory.namespace)
    if namespace in ("", "default") or namespace in home:
        return 1.0
    return OTHER_PROJECT if query.project else UNKNOWN_PROJECT


def _matched(query: Query, strengths: Sequence[float]) -> frozenset[str]:
    return frozenset(
        term.token.text
        for term, strength in zip(query.terms, strengths, strict=True)
        if strength > 0 and rarity(term.token) > 0.3
    )
