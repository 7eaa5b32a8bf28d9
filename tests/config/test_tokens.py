"""The token estimate, beside a real vocabulary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.tokens import cost, estimate_tokens
from tests.actors.compressor import texts
from tests.bench.tokens import tokens


@given(st.text(), st.text())
def test_a_whole_never_costs_more_than_its_parts(left: str, right: str) -> None:
    assert cost(left + right) <= cost(left) + cost(right) + 1e-9


@pytest.mark.parametrize("kind", sorted(texts.KINDS))
def test_the_estimate_is_near_a_real_vocabulary(kind: str) -> None:
    text = texts.KINDS[kind][:20_000]
    real = tokens(text)
    assert 0.88 * real <= estimate_tokens(text) <= 1.45 * real


def test_samples_of_a_long_text_are_near_the_whole() -> None:
    text = texts.log(9_000) + texts.markdown(900)
    parts = sum(cost(text[at : at + 20_000]) for at in range(0, len(text), 20_000))
    assert len(text) > 400_000
    assert cost(text) == pytest.approx(parts, rel=0.05)


def test_hex_costs_more_than_prose_and_hangul_about_one_each() -> None:
    assert cost("d7e47a06674c91b3") > 1.5 * cost("some plain words")
    assert 4 < cost("데이터베이스") < 7


def test_lone_surrogates_are_counted() -> None:
    assert cost("\ud800") == cost("\ufffd") > 0  # what is delivered in their place costs the same
