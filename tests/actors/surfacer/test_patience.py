"""How long a response waits for its memories."""

import pytest

from actors.surfacer.patience import MOST_SECONDS, Patience


def after(*searches: float) -> Patience:
    patience = Patience()
    for seconds in searches:
        patience.note(seconds)
    return patience


def test_before_the_first_search_there_is_some() -> None:
    assert 0.05 < Patience().seconds(0.05) < MOST_SECONDS


def test_a_quick_ltm_gets_the_least() -> None:
    assert after(*[0.006] * 10).seconds(0.05) == 0.05


@pytest.mark.parametrize("usual", [0.03, 0.1, 0.2, 0.3])
def test_a_slower_one_gets_what_it_usually_takes(usual: float) -> None:
    assert usual < after(*[usual] * 20).seconds(0.05) <= MOST_SECONDS


def test_a_slow_one_is_not_waited_for_in_vain() -> None:
    assert after(*[2.0] * 20).seconds(0.05) == 0.05


def test_one_slow_search_makes_no_slow_ltm() -> None:
    assert after(*[0.02] * 20, 0.5).seconds(0.05) < MOST_SECONDS


def test_what_was_asked_for_is_the_least() -> None:
    assert after(0.01).seconds(2.0) == 2.0
