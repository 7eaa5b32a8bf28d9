"""From a call to a search: five stages, the first usable one wins.

| stage | source |
|---|---|
| 1 | the tool's query template |
| 2 | `_context_query`, as it is |
| 3 | path arguments |
| 4 | semantic arguments |
| 5 | the tool's name |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from actors.surfacer.arguments import (
    PATH_KEYS,
    SEMANTIC_KEYS,
    file_of,
    project_of,
    semantic_text,
    split_path,
    values_of,
)
from actors.surfacer.tokens import INFORMATIVE, Script, Token, count, fold, rarity, tokens

LONGEST_QUERY = 1000
_MOST_TERMS = 48
_PATH_FILE, _PATH_FOLDER, _PATH_ASIDE, _TOOL_NAME = 1.3, 1.0, 0.8, 0.6
# Questions about the world, not about one's own matters, unless they say "our" or "my".
_OF_THE_WORLD = re.compile(
    r"^\s*(?:explain (?:how|what|why|the)|define|best|top \d+)\b"
    r"|\b(?:difference between|history of|compared? (?:to|with)|vs\.?|versus|comparison|tutorials?|recipes?|reviews"
    r"|tips|explained)\b"
    r"|(?:을|를|에 대해) 설명해|비교해|추천해|について説明|を説明して|作り方|おすすめ",
    re.IGNORECASE,
)
_OF_ONES_OWN = re.compile(r"\b(?:our|ours|we|us|my|mine)\b|우리|저희|내 |うちの|私たち|当社", re.IGNORECASE)
_MIXED_RUN = re.compile(r"[\u3400-\u9fff\u3005\u30a1-\u30fa\u30fc]{2,}")
_VARIABLE = re.compile(r"\{(tool_name|server|arg\.([\w.-]+))\}")


@dataclass(frozen=True, slots=True)
class Term:
    """One word to look for.

    Attributes:
        weight: rarity prior times the weight of its source; above 0.
    """

    token: Token
    weight: float


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for.

    Attributes:
        text: what the LTM is asked.
        stage: 1 to 5, the source it came from.
        terms: its distinct words.
        project: the repository the call is about, folded; empty when unknown.
        raw: the values it was made of, for the credential check; never leaves the process.
    """

    text: str
    stage: int
    terms: tuple[Term, ...]
    project: str
    raw: str

    @property
    def is_of_the_world(self) -> bool:
        """Whether it reads like a question of general knowledge, which notes seldom answer."""
        return _OF_THE_WORLD.search(self.raw) is not None and _OF_ONES_OWN.search(self.raw) is None

    @property
    def files(self) -> frozenset[str]:
        """The files that the call is about, folded, as `folder/name.ext`."""
        paths = self.raw.splitlines() if self.stage == 3 else ()
        return frozenset(fold(name) for path in paths if (name := file_of(path)))

    @property
    def search_text(self) -> str:
        """The text for the LTM: words of scripts without spaces or with particles stand once more alone, since
        a full-text index may hold only whole runs."""
        if self.text.isascii():
            return self.text
        runs = _MIXED_RUN.findall(self.text)
        words = [t.surface for t in tokens(self.text) if t.script is not Script.WORD and len(t.surface) > 1]
        known = set(self.text.split())
        added = [word for word in dict.fromkeys([*runs, *words]) if word not in known]
        return " ".join([self.text, *added])[:LONGEST_QUERY]

    @property
    def digest(self) -> str:
        """`sha256:` digest of the folded text, for telemetry and the result cache."""
        return "sha256:" + hashlib.sha256(fold(self.text).encode("utf-8", "replace")).hexdigest()

    @property
    def words(self) -> frozenset[str]:
        """The token set that the cooldown compares."""
        return frozenset(term.token.text for term in self.terms) or frozenset(fold(self.text).split())


def extract(
    *,
    server: str,
    tool: str,
    arguments: Mapping[str, object],
    context_query: str = "",
    template: str = "",
    min_tokens: int = 3,
) -> Query | None:
    """The query of a call, or `None` when no stage is usable or the words would fit any memory.

    Args:
        template: the tool's `query_template` (`{tool_name}`, `{server}`, `{arg.NAME}`), or empty.
        min_tokens: what makes a stage usable; `_context_query` always is.
    """
    project = project_of(arguments)
    if template:
        filled = _fill(template, server, tool, arguments)
        if count(filled) >= min_tokens:
            return _query(filled, 1, _terms([(filled, 1.0)]), project, filled)
    if context_query.strip():
        text = " ".join(context_query.split())[:LONGEST_QUERY]
        return _query(text, 2, _terms([(text, 1.0)]), project or _path_project(arguments), text)
    paths = [value for _, value in values_of(arguments, PATH_KEYS)]
    split = [split_path(path) for path in paths]
    project = project or next((parts.project for parts in split if parts.project), "")
    place = [(name, _PATH_FOLDER) for parts in split for name in parts.folders]
    files = [(parts.file, _PATH_FILE) for parts in split if parts.file]
    is_asked = next(values_of(arguments, SEMANTIC_KEYS), None) is not None
    # A folder beside a question (grep, glob) is where to look, not what for.
    if any(parts.tokens >= min_tokens and (parts.is_file or not is_asked) for parts in split):
        query = _informative(3, _terms([*files, *reversed(place)]), project, "\n".join(paths))
        if query:
            return query
    matter: list[tuple[str, float]] = []
    raw = list(paths)
    for key, value in values_of(arguments, SEMANTIC_KEYS):
        words, named = semantic_text(key, value)
        matter.append((words, 1.0))
        raw.append(value)
        project = project or named
    aside = [(name, _PATH_ASIDE) for name, _ in [*files, *place]]
    if matter and sum(count(words) for words, _ in [*matter, *aside]) >= min_tokens:
        query = _informative(4, _terms([*matter, *aside]), project, "\n".join(raw))
        if query:
            return query
    if not matter and not paths and count(tool) >= min_tokens:
        return _informative(5, _terms([(tool, _TOOL_NAME)]), project, tool)
    return None


def _query(text: str, stage: int, terms: tuple[Term, ...], project: str, raw: str) -> Query:
    return Query(text, stage, terms, fold(project), raw)


def _informative(stage: int, terms: tuple[Term, ...], project: str, raw: str) -> Query | None:
    """A query of keywords, unless every word of it would fit any memory."""
    if all(rarity(term.token) < INFORMATIVE for term in terms):
        return None
    text = " ".join(dict.fromkeys(term.token.surface for term in terms))[:LONGEST_QUERY]
    return _query(text, stage, terms, project, raw)


def _terms(sources: Iterable[tuple[str, float]]) -> tuple[Term, ...]:
    """Distinct terms in order; a word found twice keeps its higher weight."""
    found: dict[str, Term] = {}
    for text, boost in sources:
        for token in tokens(text):
            weight = rarity(token) * boost
            known = found.get(token.text)
            if known is None and len(found) >= _MOST_TERMS:
                return tuple(found.values())
            if weight > 0 and (known is None or known.weight < weight):
                found[token.text] = Term(token, weight)
    return tuple(found.values())


def _path_project(arguments: Mapping[str, object]) -> str:
    return next((p.project for _, v in values_of(arguments, PATH_KEYS) if (p := split_path(v)).project), "")


def _fill(template: str, server: str, tool: str, arguments: Mapping[str, object]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] == "tool_name":
            return tool
        if match[1] == "server":
            return server
        found = arguments.get(match[2])
        return " ".join(str(v) for v in found) if isinstance(found, list) else "" if found is None else str(found)

    return " ".join(_VARIABLE.sub(value, template).split())[:LONGEST_QUERY]
