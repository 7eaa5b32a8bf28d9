"""Random texts against everything that is promised. `make fuzz` runs it for some ten minutes."""

from __future__ import annotations

import json
import os
import re

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from actors.compressor import jsontext
from actors.compressor.budget import Budget
from actors.compressor.detect import Kind, detect
from actors.compressor.entry import Entry
from actors.compressor.messages import Policy, ReadMore, SelectChunks
from actors.compressor.pages import valid
from actors.compressor.read import read_more, select_chunks
from config.tokens import cost
from tests.actors.compressor import texts
from tests.actors.compressor.texts import compress, issue

EXAMPLES = 4_000 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 20
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES == 20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
STRATEGIES = ["auto", "truncate", "extract_fields", "schema_pruning", "skeleton", "hybrid", "selective", "progressive"]
KEEPS_JSON = {"auto", "truncate", "extract_fields", "schema_pruning"}
LINES = [
    "2026-11-01T10:00:00Z ERROR pool lost 41", "2026-11-01T10:00:01Z INFO all is well",
    "Traceback (most recent call last):",
    '  File "/a.py", line 3, in f', "ValueError: 17 is not 18", "## Heading", "# Title", "```py", "```", "| a | b |",
    "|---|---|", "| 1 | 2 |", "name: value", "  nested: 3", "- item 5", "[section]", "key = 7", "def f(x):",
    "    return 11",
    "", "", "a,b,c", '1,"two, 2",3', "src/a.py:12: hit", "17:  hit", "commit 0123456789abcdef", "    subject 3",
    "diff --git a/x b/x", "@@ -1,2 +1,2 @@", "+added 3", "-gone 4", "NAME   READY   STATUS", "pod-1   0/1   Pending",
    "pod-2   1/1   Running", "Decision: we take 5", "CHAPTER 3. THE END", "한국어 문장입니다 31.", "日本語の文章です。",
    "👩\u200d💻 e\u0301 🇰🇷",
    "\ud800", "\x1b[31mred\x1b[0m", "10%\r20%\r30%", "x" * 700, "word " * 150, "9" * 60, '{"a": 1.10, "b": [1, 2]}',
    "<p>para <a href='/x'>y</a></p>", "<html><body>", "\x00", "\u2028", "Plan: 3 to add", "  # x.y will be destroyed",
]  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=60)
    | st.sampled_from(["error", "failed", "한국어", "long words " * 30, "\ud800", "1e5", "…+3 items"])
)
NAMES = st.sampled_from(["id", "name", "title", "status", "error", "message", "body", "values", "meta", "…", "a b", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=10)
        | st.dictionaries(NAMES | st.text(max_size=6), inner, max_size=8)
        | st.builds(
            lambda record, count: [record] * count, st.dictionaries(NAMES, inner, max_size=5), st.integers(3, 40)
        )
    ),
    max_leaves=30,
)
BUDGETS = st.tuples(st.integers(150, 6_000), st.integers(60, 2_000))
QUERIES = st.sampled_from(["", "error", "name value", "한국어", '"two, 2"', "41 pool", "\ud800", "\\"])

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBER = re.compile(r"(?<![\w.+…-])-?\d[\d.eE+-]*(?![\w.])")


def lines_of(parts: list[tuple[str, int]]) -> str:
    return "\n".join(line for line, times in parts for _ in range(times))


TEXTS = st.lists(
    st.tuples(st.sampled_from(LINES) | st.text(max_size=90), st.integers(1, 40)), min_size=2, max_size=60
).map(lines_of)


def check(text: str, policy: Policy, query: str) -> str:
    """One text, one budget: what holds for every answer. Returns what is delivered."""
    made = compress(text, policy=policy, query=query)
    assert compress(text, policy=policy, query=query).reply == made.reply
    blob = made.reply.texts[0]
    if blob is None:
        assert Budget(policy.max_chars, policy.max_tokens).fits(text) or len(text) <= policy.untouched_chars
        return text
    out = blob.data.decode()
    assert len(out) <= min(policy.max_chars, len(text))
    assert cost(out) <= min(policy.max_tokens, cost(text)) + 1e-6
    shown = [key for key in made.reply.keys if key in out]
    if made.originals:
        assert [original.text for original in made.originals] == [text]
        assert Budget.of(out).chars < 200 or shown
    body = texts.without_note(out)
    if policy.strategy in KEEPS_JSON and policy.max_chars >= 400 and policy.max_tokens >= 200:
        kind = detect(valid(text))
        if kind is Kind.JSON:
            assert jsontext.valid(body), body[:300]
            numbers = set(_NUMBER.findall(_STRING.sub('""', body)))
            assert numbers <= set(re.findall(r"-?\d[\d.eE+-]*", text))
    return out


@FUZZ
@given(TEXTS, st.sampled_from(STRATEGIES), BUDGETS, QUERIES)
@example("\n".join(["a,b,c", '1,"two, 2",3'] * 40), "auto", (600, 200), "")
def test_lines(text: str, strategy: str, budget: tuple[int, int], query: str) -> None:
    check(text, Policy(strategy=strategy, max_chars=budget[0], max_tokens=budget[1], untouched_chars=100), query)


@FUZZ
@given(VALUES, st.sampled_from(STRATEGIES), BUDGETS, QUERIES, st.sampled_from([None, 2]))
def test_json(value: object, strategy: str, budget: tuple[int, int], query: str, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    check(text, Policy(strategy=strategy, max_chars=budget[0], max_tokens=budget[1], untouched_chars=60), query)


@FUZZ
@given(VALUES, BUDGETS)
def test_structured_content_alone(value: object, budget: tuple[int, int]) -> None:
    structured = json.dumps({"result": value})
    made = compress(structured=structured, policy=Policy(max_chars=budget[0], max_tokens=budget[1], untouched_chars=60))
    if made.reply.stand_in is None:
        assert made.reply.keep_structured
    else:
        assert Budget(*budget).fits(made.reply.stand_in.text)
        assert not made.reply.keep_structured


@FUZZ
@given(TEXTS, QUERIES)
def test_a_larger_budget_keeps_at_least_as_many_lines(text: str, query: str) -> None:
    before = -1
    for chars in (500, 900, 1_600, 3_000, 6_000, 12_000, 40_000):
        out = check(text, Policy(max_chars=chars, max_tokens=chars // 3, untouched_chars=100), query)
        said = re.search(r"\n\[shortened: (\d+) of \d+ lines", out)
        if said is None:
            continue
        assert int(said[1]) >= before, chars
        before = int(said[1])


@FUZZ
@given(TEXTS, BUDGETS, QUERIES, st.lists(st.text(max_size=12) | st.sampled_from(["1", "2", "Heading"]), max_size=3))
def test_everything_can_be_read_again(text: str, budget: tuple[int, int], query: str, names: list[str]) -> None:
    key = issue(text, 1800).key
    entry = entry_of(text)
    limits = {"max_chars": max(400, budget[0]), "max_tokens": max(200, budget[1])}
    parts, offset = [], 0
    while offset < len(text):
        page = read_more(ReadMore(key=key, offset=offset, **limits), entry)
        assert Budget(limits["max_chars"], limits["max_tokens"]).fits(page.text.text)
        assert page.served > 0
        parts.append(page.text.text[: page.served])
        offset += page.served
    assert "".join(parts) == valid(text)
    for answer in (
        read_more(ReadMore(key=key, find=query or "x", **limits), entry),
        select_chunks(SelectChunks(key=key, sections=tuple(names) or ("1",), **limits), entry),
    ):
        assert Budget(limits["max_chars"], limits["max_tokens"]).fits(answer.text.text)
        answer.text.data.decode()


def entry_of(text: str) -> Entry:
    return Entry(text, "s", "t", "", 0, 1800)


@FUZZ
@given(st.lists(TEXTS | VALUES.map(json.dumps), min_size=1, max_size=5), VALUES, BUDGETS)
def test_several_texts_and_a_copy(parts: list[str], value: object, budget: tuple[int, int]) -> None:
    chars, tokens = max(600, budget[0]), max(300, budget[1])
    structured = json.dumps(value)
    made = compress(
        *parts, structured=structured, policy=Policy(max_chars=chars, max_tokens=tokens, untouched_chars=100)
    )
    out = texts.delivered(made, *parts) + ([structured] if made.reply.keep_structured else [])
    assert sum(map(len, out)) <= chars
    assert sum(map(cost, out)) <= tokens + 1e-6
