from __future__ import annotations

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.compressor.budget import Budget, cost, estimate_tokens
from tests.actors.compressor import texts


@given(st.text(), st.text())
def test_a_whole_never_costs_more_than_its_parts(left: str, right: str) -> None:
    assert cost(left + right) <= cost(left) + cost(right) + 1e-9


@pytest.mark.parametrize("kind", sorted(texts.KINDS))
def test_the_estimate_is_near_a_real_vocabulary(kind: str) -> None:
    text = texts.KINDS[kind][:20_000]
    real = len(bpe_openai.get_encoding("o200k_base").encode(text))
    assert 0.82 * real <= estimate_tokens(text) <= 1.9 * real


def test_samples_of_a_long_text_are_near_the_whole() -> None:
    text = texts.log(9_000) + texts.markdown(900)
    parts = sum(cost(text[at : at + 50_000]) for at in range(0, len(text), 50_000))
    assert len(text) > 400_000
    assert cost(text) == pytest.approx(parts, rel=0.05)


def test_hex_costs_more_than_prose_and_hangul_about_one_each() -> None:
    assert cost("d7e47a06674c91b3") > 1.5 * cost("some plain words")
    assert cost("데이터베이스") == 6


def test_lone_surrogates_are_counted() -> None:
    assert cost("\ud800") > 0


def test_both_ceilings_hold() -> None:
    budget = Budget(10, 3)
    assert budget.fits("abc abc")
    assert not budget.fits("abc abc abc")  # too many characters
    assert not budget.fits("77777")  # too many tokens
    assert budget.minus("x" * 50) == Budget(0, 0)
