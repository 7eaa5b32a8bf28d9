"""Which scored memories are shown: few, no twins, the newer of two on one topic, none that talks to the agent."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from actors.surfacer.memory import Memory
from actors.surfacer.relevance import Scored, features_of
from actors.surfacer.tokens import normalise

CLOSE_TO_BEST = 0.85
"""A second and third memory must reach this share of the best one's relevance."""
_TWINS = 0.7
_SAME_TOPIC = 0.4
_DATE = re.compile(r"\b(20\d\d)[-./년年]\s?(\d{1,2})(?:[-./월月]\s?(\d{1,2}))?")
_SUPERSEDES = re.compile(
    r"\b(?:since|as of|from now on|instead of|no longer|replace[sd]|now uses?|switched|moved (?:from|to)|supersedes)\b"
    r"|부터|대신|더 이상|변경(?:되|했|됨)|代わりに|廃止|以降|に変更|改为|不再",
    re.IGNORECASE,
)
_OUTDATED = re.compile(
    r"\b(?:deprecated|obsolete|outdated|superseded by|old way|until (?:20\d\d|v\d))\b"
    r"|폐기|구버전|옛날|旧|非推奨|已废弃",
    re.IGNORECASE,
)
_ADDRESSES_AGENT = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|prompt|rule|guideline|direction|message|context)s?\b"
    r"|\b(?:you are now|act as (?:an?|the)\b.{0,30}\b(?:assistant|agent|system|admin)|pretend (?:to be|you))"
    r"|\b(?:system|developer|new) (?:prompt|instructions?|message)\s*:"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention|reveal|show)\b.{0,30}\b(?:the )?(?:user|human|operator)\b"
    r"|\b(?:dear|attention|hey|hello),? (?:ai|assistant|agent|model|llm|claude|chatgpt)\b"
    r"|\b(?:as an? (?:ai|llm)|ai assistant|assistant),? (?:you )?(?:must|should|shall|need to|have to)\b"
    r"|<\s*/?\s*(?:system|assistant|user|instructions?|surfaced-memories|tool_result|function_calls?)\b"
    r"|\[/?INST\]|<\|(?:im_start|im_end|system|endoftext)\|>"
    r"|(?:이전|앞선|위|기존)의?\s*(?:모든\s*)?(?:지시|명령|프롬프트|규칙).{0,12}(?:무시|잊)|시스템\s*프롬프트"
    r"|(?:以前|これまで|上記|前)の?.{0,6}(?:指示|命令|プロンプト).{0,8}(?:無視|忘れ)|システムプロンプト"
    r"|(?:忽略|无视|忘记).{0,8}(?:之前|以上|先前|前面|所有).{0,8}(?:指示|指令|提示|规则)|系统提示",
    re.IGNORECASE | re.DOTALL,
)


def addresses_agent(memory: Memory) -> bool:
    """Whether a memory speaks to the agent (commands, role changes, forged markup) instead of stating something."""
    text = f"{memory.text}\n{memory.hierarchy}\n{memory.source}\n{memory.namespace}"
    # A hidden character may stand inside a word, or between two that are to be read as such.
    readings = {normalise(text), normalise(text, " ")}
    return any(_ADDRESSES_AGENT.search(re.sub(r"\s+", " ", reading)) for reading in readings)


def choose(scored: Sequence[Scored], most: int) -> list[Scored]:
    """The memories to show of those that passed every gate, best first.

    Two on one topic become the newer one; one alone is the rule, a second or third must be close to the best. Notes
    written after one pattern (customers, meetings) are alike and yet not on one topic, so that a word of the query that
    only one of two holds keeps them apart.
    """
    kept: list[Scored] = []
    for candidate in scored:
        rival = next((k for k in kept if _overlap(k, candidate) >= _SAME_TOPIC), None)
        if rival is None:
            kept.append(candidate)
        elif _is_newer(candidate.memory, rival.memory) and rival.matched <= candidate.matched:
            kept[kept.index(rival)] = candidate
        elif not candidate.matched <= rival.matched or (
            _overlap(rival, candidate) < _TWINS and not _is_newer(rival.memory, candidate.memory)
        ):
            kept.append(candidate)
    if not kept:
        return []
    best = max(found.relevance for found in kept)
    return [found for found in kept if found.relevance >= CLOSE_TO_BEST * best][:most]


def without_twins(candidates: Sequence[Scored], seen: Sequence[Scored]) -> list[Scored]:
    """`candidates` without those that say the same as one already seen, which answers no less of the query."""
    return [
        c for c in candidates if all(_overlap(c, known) < _TWINS or not c.matched <= known.matched for known in seen)
    ]


def _overlap(a: Scored, b: Scored) -> float:
    """Share of the smaller memory's words (CJK: character pairs) that the other holds too."""
    left, right = _shingles(a.memory), _shingles(b.memory)
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0


def _shingles(memory: Memory) -> frozenset[str]:
    found = features_of(memory)
    pairs = {
        text
        for run in re.findall(r"[\u3041-\u9fff\uac00-\ud7a3]{2,}", found.folded)
        for text in itertools.pairwise(run)
    }
    return frozenset(word for word in found.words if not word.isdigit()) | {"".join(pair) for pair in pairs}


def _is_newer(a: Memory, b: Memory) -> bool:
    """Whether `a` says or shows that it is the current one of the two."""
    dates = _latest_date(a.text), _latest_date(b.text)
    if dates[0] and dates[1] and dates[0] != dates[1]:
        return dates[0] > dates[1]
    return _currency(a.text) > _currency(b.text)


def _currency(text: str) -> int:
    return (1 if _SUPERSEDES.search(text) else 0) - (2 if _OUTDATED.search(text) else 0)


def _latest_date(text: str) -> tuple[int, int, int] | None:
    found = [(int(m[1]), int(m[2]), int(m[3] or 0)) for m in _DATE.finditer(text) if 1 <= int(m[2]) <= 12]
    return max(found, default=None)
