"""A short form of `make bench-quality` as a gate: other contents than the strategies were tuned on, all kinds."""

from __future__ import annotations

import statistics
from functools import cache

import pytest

from actors.compressor.messages import Policy
from tests.bench.quality.facts import DEEP, SALIENT, Payload, Shown
from tests.bench.quality.measure import Pure, measure
from tests.bench.quality.payloads import SETS, build
from tests.bench.quality.tokens import count_tokens

SEED = 20_261
LONG = 16_000
FLOORS = {"tuned": (0.98, 0.51, 0.95), "held-out": (0.98, 0.55, 0.95), "strangers": (0.95, 0.55, 0.95)}
"""Shares of each set: salient facts and all facts in the first answer, deep ones in an answer to a query for them."""
MOST = {"tuned": 0.25, "held-out": 0.28, "strangers": 0.25}
"""Shares of the tokens of each set that its first answers take, on average."""


@cache
def payloads(name: str) -> list[Payload]:
    return [each for each in build(name, SEED) if len(each.text) > LONG]


def test_the_payloads_of_strangers_are_what_they_are_said_to_be() -> None:
    built = payloads("strangers")
    assert len({each.kind for each in built}) == len(built) == len(SETS["strangers"])
    for payload in built:
        assert 17_000 <= len(payload.text) <= 200_000, payload.kind
        planted = [fact for fact in payload.facts if fact.cls == SALIENT]
        assert len(planted) == min(6, len(payload.salient)), payload.kind
    assert [each.text for each in build("strangers", SEED)] == [each.text for each in built]


@cache
def answers(name: str) -> list[str]:
    return [Pure(Policy()).first(payload.text, "") for payload in payloads(name)]


def test_first_answers_take_a_quarter() -> None:
    shares: dict[str, list[float]] = {name: [] for name in MOST}
    for name, most in MOST.items():
        for payload, answer in zip(payloads(name), answers(name), strict=True):
            tokens = count_tokens(answer)
            assert tokens <= 4_500, payload.kind
            shares[name].append(tokens / count_tokens(payload.text))
        assert statistics.mean(shares[name]) <= most, name
    every = [share for some in shares.values() for share in some]
    assert len(every) >= 150
    assert statistics.mean(every) <= 0.25


@pytest.mark.parametrize("name", [*FLOORS])
def test_the_first_answer_keeps_what_matters(name: str) -> None:
    kept = {SALIENT: [0, 0], DEEP: [0, 0]}
    for payload, answer in zip(payloads(name), answers(name), strict=True):
        shown = Shown(answer)
        for fact in payload.facts:
            kept[fact.cls][0] += shown.has(fact)
            kept[fact.cls][1] += 1
    salient, every, _ = FLOORS[name]
    assert kept[SALIENT][0] >= salient * kept[SALIENT][1]
    assert sum(each[0] for each in kept.values()) >= every * sum(each[1] for each in kept.values())


@pytest.mark.parametrize("name", [*FLOORS])
def test_a_query_brings_what_it_names(name: str) -> None:
    found = asked = 0
    for payload in payloads(name):
        pure = Pure(Policy())
        for fact in [fact for fact in payload.facts if fact.cls == DEEP][2:3]:
            found += Shown(pure.first(payload.text, fact.named)).has(fact)
            asked += 1
    assert found >= FLOORS[name][2] * asked


@pytest.mark.parametrize("kind", ["json issues", "csv", "markdown", "python"])
def test_everything_else_can_be_read_with_little(kind: str) -> None:
    payload = next(each for each in payloads("tuned") if each.kind == kind)
    pure = Pure(Policy())
    row = measure(payload, pure.first, pure.more)
    assert row.recoverable == row.facts
    assert row.found >= row.sought - 1 > 0
    assert row.read <= 0.15
