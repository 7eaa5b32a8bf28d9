"""What holds for every text and every strategy, however hostile the text."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.compressor import jsontext
from actors.compressor.detect import Kind, detect
from actors.compressor.messages import Policy
from actors.compressor.pages import valid
from config.tokens import cost
from tests.actors.compressor import texts
from tests.actors.compressor.texts import compress

STRATEGIES = ["auto", "truncate", "extract_fields", "schema_pruning", "skeleton", "hybrid", "selective", "progressive"]
JSON_STRATEGIES = {"auto", "truncate", "extract_fields", "schema_pruning"}
HOSTILE = {
    "deep": "[" * 10_000 + "]" * 10_000,
    "deep_object": '{"a":' * 900 + '"' + "x" * 9_000 + '"' + "}" * 900,
    "nan": "[" + ",".join(["NaN"] * 3_000) + "]",
    "cut_json": '{"a": 1,' * 3_000,
    "one_line": "x" * 400_000,
    "one_line_words": "word " * 80_000,
    "nul": "a\x00b\n" * 5_000,
    "surrogates": "\ud800x\udc00 \n" * 4_000,
    "json_surrogates": '{"a":["' + "\\ud800" * 3_000 + '"],"b":"' + "x" * 9_000 + '"}',
    "open_fence": "# T\n```python\n" + "def f(): pass\n" * 3_000,
    "soup": "<html>" + "<" * 20_000 + ">" * 20_000 + "<!--" * 500 + "<p>" * 500,
    "deep_html": "<html><body>" + "<div>" * 9_000 + "x" * 9_000,
    "spaces": "x" + " " * 200_000 + "y",
    "fodder": ("a" * 199 + " ") * 1_000,
    "escapes": "\x1b]" * 60_000,
    "brackets": "[a](" * 40_000,
    "hashes": "#" * 60_000 + "\n" + "# " * 20_000,
    "line_ends": "\n" * 100_000,
    "joined_emoji": "👩\u200d💻🇰🇷e\u0301" * 4_000,
    "marks": "a" + "\u0301" * 30_000,
    "same_key": "{" + ",".join(f'"a":{at}' for at in range(5_000)) + "}",
    "empty_records": json.dumps([{}] * 6_000),
    "mixed_array": json.dumps([1, "a", None, {"b": 2}, [3]] * 1_500),
    "strings": json.dumps({f"k{at}": "v" * 50 for at in range(1_500)}),
    "carriage": "10%\r20%\r30%\n" * 8_000,
    "one_alarm_line": "error " * 60_000,
    "python_quotes": "[{'" + "\\'" * 300_000,
    "python_print": repr([{"a": "it's", "b": (1, None), "c": [True]}] * 3_000),
    "json_string": json.dumps("## Part\n\nsome words\n" * 3_000),
    "quoted_quotes": json.dumps(json.dumps(json.dumps({"a": "x" * 20_000}))),
    "slashes": "a/" * 100_000 + ":\n" + "b/c.py:\n" * 3_000,
    "file_tags": "<file " + "path " * 60_000,
    "fences": ("```\n" + "x\n" * 900 + "```\n") * 30,
    "labels": "a: " * 100_000 + "\n" + "b: 1\nc: 2\n" * 3_000,
    "elements": "<?xml version='1.0'?>" + "<a><b>x</b></a>" * 20_000,
    "cut_deep": "[" * 5_000 + "1," * 9_000,
    "cut_string": '{"a": ["' + 'x", "y' * 9_000 + "\\",
    "json_after_words": ("See: {" + '"a": 1, ' * 40 + "\n") * 400,
    "ragged_table": "a,b,c\n" + '1,2,"x\n' * 5_000,
}
NAMES = {
    "issues": r"#(\d+)\"",
    "ndjson": r"\"message \d+",
    "history": r"\(\d+\)$",
    "paths": r"pkg\d+|module_\d+",
    "listing": r"part_\d+|module_\d+_\d+",
    "packages": r"package-\d+",
    "framed": r"lib\d+",
    "written out": r"service_\d+|\b1\d\d\d\b",
}
BUDGETS = [(16_000, 4_000), (2_000, 500), (600, 200)]


def check(text: str, policy: Policy, *, again: bool = True) -> str:
    """`again` compresses a second time: once for each text and strategy, not at every budget as well."""
    made = compress(text, policy=policy)
    if again:
        assert compress(text, policy=policy).reply == made.reply
    blob = made.reply.texts[0]
    if blob is None:
        assert len(text) <= policy.max_chars
        assert cost(text) <= policy.max_tokens
        return text
    out = blob.data.decode()  # valid UTF-8
    assert len(out) <= min(policy.max_chars, len(text))
    assert cost(out) <= min(policy.max_tokens, cost(text))
    assert out.strip()
    if made.originals:
        assert made.originals[0].text == text
    body = out.rsplit("\n[shortened: ", 1)[0]
    if policy.strategy in JSON_STRATEGIES and policy.max_chars >= 2_000 and detect(valid(text)) is Kind.JSON:
        assert jsontext.parse(body) is not None
        numbers = set(re.findall(r"(?<![\w.+…-])-?\d[\d.eE+-]*(?![\w.])", re.sub(r'"(?:[^"\\]|\\.)*"', '""', body)))
        assert numbers <= set(re.findall(r"-?\d[\d.eE+-]*", text))
    return out


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_texts(name: str, strategy: str) -> None:
    for chars, tokens in BUDGETS if strategy == "auto" else BUDGETS[:1]:
        policy = Policy(strategy=strategy, max_chars=chars, max_tokens=tokens, untouched_chars=500)
        check(HOSTILE[name], policy, again=chars == BUDGETS[0][0])


@pytest.mark.parametrize("kind", sorted(texts.KINDS))
def test_a_larger_budget_never_delivers_fewer_units(kind: str) -> None:
    before = 0
    for chars in (1_500, 2_500, 4_000, 7_000, 12_000, 20_000, 34_000, 60_000, 200_000):
        policy = Policy(max_chars=chars, max_tokens=chars // 4, untouched_chars=500)
        out = check(texts.KINDS[kind], policy, again=chars == 4_000)
        units = kept_units(kind, out)
        assert units >= before, (chars, units, before)
        before = units


def kept_units(kind: str, out: str) -> int:
    """How many source units an answer shows: names of its things, or lines, or characters."""
    if kind in NAMES:
        return len(set(re.findall(NAMES[kind], out, re.M)))
    said = re.search(r"\[shortened: (?:the first )?(\d+) of (\d+) (?:lines|rows|characters)(, the others by )?", out)
    if said is None:
        assert out == texts.KINDS[kind] or "[shortened: cleaned, " in out
        return 1_000_000
    return int(said[1]) + (int(said[2]) if said[3] else 0)


PIECES = [
    "ERROR it failed\n",
    "INFO all is well\n",
    "## Heading\n",
    "```\n",
    "| a | b |\n",
    "def f(x):\n",
    "    return 1\n",
    "\n\n",
    '{"a": 1.10}',
    "[1, 2,",
    "]",
    "<p>para</p>",
    "<table><tr><td>",
    "한국어 문장입니다. ",
    "👩\u200d💻",
    "\ud800",
    "\x1b[31m",
    "\x00",
    " " * 40,
    "word " * 30,
    "a,b,c\n",
    "1,2,3\n",
    "src/a.py:12: hit\n",
    "commit 0123456789abcdef\n",
    "@@ -1,2 +1,2 @@\n",
    "x" * 700,
    "\r",
    "9" * 50,
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(PIECES), min_size=20, max_size=120),
    st.sampled_from(STRATEGIES),
    st.sampled_from([(1_200, 400), (400, 120), (200, 70)]),
)
def test_random_mixtures(parts: list[str], strategy: str, budget: tuple[int, int]) -> None:
    policy = Policy(strategy=strategy, max_chars=budget[0], max_tokens=budget[1], untouched_chars=100)
    made = compress("".join(parts), policy=policy)
    blob = made.reply.texts[0]
    if blob is not None:
        assert len(blob.data.decode()) <= budget[0]
        assert cost(blob.text) <= budget[1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
    max_leaves=20,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(VALUES, min_size=4, max_size=12), st.sampled_from(sorted(JSON_STRATEGIES)))
def test_json_stays_json(values: list[object], strategy: str) -> None:
    text = json.dumps(values * 20, allow_nan=False) if "Infinity" not in json.dumps(values) else "[]"
    check(text, Policy(strategy=strategy, max_chars=2_000, max_tokens=600, untouched_chars=100))


def test_random_lines_never_grow() -> None:
    rng = random.Random(3)
    for _ in range(10):
        lines = [
            "".join(
                chr(rng.choice([rng.randrange(32, 127), rng.randrange(0xAC00, 0xD7A3)]))
                for _ in range(rng.randrange(200))
            )
            for _ in range(80)
        ]
        check("\n".join(lines), Policy(max_chars=3_000, max_tokens=900, untouched_chars=100))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(sorted(texts.KINDS)), st.integers(1, 20_000)), min_size=1, max_size=12),
    st.sampled_from(["", '{"count":1}', texts.issues(40)]),
    st.sampled_from([(16_000, 4_000), (3_000, 900)]),
)
def test_texts_and_structured_copy_together_fit(
    parts: list[tuple[str, int]], structured: str, budget: tuple[int, int]
) -> None:
    blocks = [texts.KINDS[kind][:length] for kind, length in parts]
    policy = Policy(max_chars=budget[0], max_tokens=budget[1], untouched_chars=300)
    made = compress(*blocks, structured=structured or None, policy=policy)
    out = [block if blob is None else blob.text for blob, block in zip(made.reply.texts, blocks, strict=True)]
    out += [structured] if made.reply.keep_structured else []
    assert sum(map(len, out)) <= budget[0]
    assert sum(map(cost, out)) <= budget[1]
    shown = "\n".join(out)
    assert all(key in shown for key in made.reply.keys)
    assert {original.ticket.key for original in made.originals} == set(made.reply.keys)
