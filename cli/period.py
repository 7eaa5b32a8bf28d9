"""Times as people give them on a command line: `7d`, `14:05`, `2026-11-30`; local unless they say otherwise."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from cli.output import Failure

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
AROUND = timedelta(minutes=5)
"""`--at` means so much before and after."""
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)
"""Times before and after count as these, which every time zone and store can hold."""
FORMS = "30m, 24h, 7d, 2w, a time of day like 14:05, or a date like 2026-11-30 or 2026-11-30T14:05"

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d)?")


def instant_of(text: str, now: datetime, option: str = "--since") -> str:
    """The UTC moment that `text` means, as ISO-8601; empty for an empty one.

    Args:
        now: aware. A time of day is its last occurrence before it.
        option: what is named when the text means nothing.

    Raises:
        Failure: it means nothing.
    """
    return _moment(text, now, option).astimezone(UTC).isoformat() if text else ""


def period(since: str, until: str, now: datetime) -> tuple[str, str]:
    """What `--since` and `--until` mean together. Arguments and errors as for `instant_of`; it must not be empty."""
    begin, end = instant_of(since, now), instant_of(until, now, "--until")
    if begin and end and datetime.fromisoformat(begin) >= datetime.fromisoformat(end):
        raise Failure("usage", f"--since {since!r} is not before --until {until!r}; exchange them", 2)
    if begin and datetime.fromisoformat(begin) > now:
        raise Failure("usage", f"--since {since!r} lies in the future; give {FORMS}", 2)
    return begin, end


def window_around(text: str, now: datetime) -> tuple[str, str]:
    """From when to when `--at TEXT` looks. Arguments and errors as for `instant_of`."""
    middle = _moment(text, now, "--at").astimezone(UTC)
    return (middle - AROUND).isoformat(), (middle + AROUND).isoformat()


def local(ts: str) -> str:
    """A stored time as people read it: local, whole seconds."""
    return datetime.fromisoformat(ts).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _moment(text: str, now: datetime, option: str) -> datetime:
    try:
        if found := _AGO.fullmatch(text):
            # Whatever lies before there were clocks is "all".
            return max(EARLIEST, now - min(now - EARLIEST, timedelta(**{UNITS[found[2]]: int(found[1])})))
        if _CLOCK.fullmatch(text):
            # Naive arithmetic on purpose: yesterday at 14:05 is 14:05, whatever the clocks did in between.
            today = datetime.combine(now.astimezone().date(), time.fromisoformat(text.zfill(5 if len(text) < 6 else 8)))
            return (today if today.astimezone() <= now else today - timedelta(days=1)).astimezone()
        named = datetime.fromisoformat(text)
        if EARLIEST.year < named.year < LATEST.year:
            return named.astimezone()
        return EARLIEST if named.year <= EARLIEST.year else LATEST
    except (ValueError, OverflowError):
        raise Failure("usage", f"{option} {text!r}: give {FORMS}", 2) from None
