"""Whether enough lines pass a test, and that no more are asked than the answer takes."""

from __future__ import annotations

import pytest

from actors.compressor.often import often

_LINES = [*["yes"] * 30, *["no"] * 70]


def _is_yes(line: str) -> bool:
    return line == "yes"


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("least", "expected"), [(0, True), (29.5, True), (30, True), (30.5, False), (100, False)])
def test_it_counts_exactly_wherever_the_lines_stand(least: float, expected: bool, turned: bool) -> None:
    assert often(_LINES[::-1] if turned else _LINES, _is_yes, least) is expected


def test_of_no_lines_none_pass() -> None:
    assert not often([], _is_yes, 1)
    assert often([], _is_yes, 0)


def test_lines_behind_a_certain_answer_are_not_asked() -> None:
    asked: list[str] = []

    def test(line: str) -> bool:
        asked.append(line)
        return line == "yes"

    assert often(_LINES, test, 10)
    assert "no" not in asked
    asked.clear()
    assert not often(_LINES, test, 90)
    assert len(asked) < len(_LINES)
