"""Times on a command line, in the time zone of whoever gives them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cli.output import Failure
from cli.period import EARLIEST, LATEST, instant_of, local, period, window_around

NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def seoul(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nine hours ahead: it is 21:30 there."""
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "age"),
    [("30m", timedelta(minutes=30)), ("24h", timedelta(hours=24)), ("7d", timedelta(days=7)), ("2w", timedelta(14))],
)
def test_ages_count_back_from_now(text: str, age: timedelta) -> None:
    assert datetime.fromisoformat(instant_of(text, NOW)) == NOW - age


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("14:05", "2026-11-30T05:05:00+00:00"),
        ("9:05", "2026-11-30T00:05:00+00:00"),
        ("09:05:30", "2026-11-30T00:05:30+00:00"),
        ("22:00", "2026-11-29T13:00:00+00:00"),
        ("2026-11-30", "2026-11-29T15:00:00+00:00"),
        ("2026-11-30T14:05", "2026-11-30T05:05:00+00:00"),
        ("2026-11-30T14:05:00Z", "2026-11-30T14:05:00+00:00"),
        ("", ""),
    ],
)
def test_times_are_local_and_in_the_past(text: str, meant: str) -> None:
    assert instant_of(text, NOW) == meant


def test_at_looks_five_minutes_around() -> None:
    assert window_around("14:05", NOW) == ("2026-11-30T05:00:00+00:00", "2026-11-30T05:10:00+00:00")
    assert local("2026-11-30T05:05:00.123456Z") == "2026-11-30 14:05:00"


@pytest.mark.parametrize(
    ("text", "meant"),
    [("999999w", EARLIEST), ("999999d", EARLIEST), ("0001-01-01", EARLIEST), ("9999-12-31T23:59:59", LATEST)],
)
def test_times_beyond_all_calls_mean_all(text: str, meant: datetime) -> None:
    assert datetime.fromisoformat(instant_of(text, NOW)) == meant
    assert window_around(text, NOW)[0] < window_around(text, NOW)[1]


@pytest.mark.parametrize(("since", "until"), [("1d", "2d"), ("2026-11-01", "2026-11-01"), ("2099-01-01", "")])
def test_a_period_without_any_time_in_it_is_refused(since: str, until: str) -> None:
    with pytest.raises(Failure, match="--since"):
        period(since, until, NOW)
    assert period("2d", "1d", NOW) == (instant_of("2d", NOW), instant_of("1d", NOW))


@pytest.mark.parametrize("text", ["yesterday", "7y", "-7d", "25:00", "14:5", "2026-13-01"])
def test_what_means_nothing_is_refused_by_name(text: str) -> None:
    with pytest.raises(Failure, match="--until"):
        instant_of(text, NOW, "--until")
