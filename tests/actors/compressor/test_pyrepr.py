"""Values that a server printed with Python's own words are read as the data they are."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from actors.compressor.detect import Kind, look
from actors.compressor.pyrepr import as_json
from tests.actors.compressor.texts import shortened

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(max_size=8), VALUES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_what_python_prints_is_read_as_it_was(value: list[object]) -> None:
    assume(repr(value).startswith("[{'"))  # a first key in double quotes may be JSON's own
    printed = as_json(repr(value))
    assert printed is not None
    assert json.loads(printed) == value


@pytest.mark.parametrize("text", ["{'a': 1", "{'a': Fraction(1, 2)}", "[{'a': <object at 0x7f>}]", "['it's']"])
def test_what_is_not_plain_data_stays_text(text: str) -> None:
    assert look(text).kind is not Kind.JSON


def test_what_database_drivers_print() -> None:
    printed = repr(
        [
            (1, "it's", Decimal("12.30"), datetime(2026, 11, 3, 7, 5, 9, 120, tzinfo=UTC), date(2026, 1, 2), None),
            (2, 'say "x"', Decimal("1E+5"), datetime(2026, 11, 3, 7, 5), date(1899, 12, 31), True),
        ]
    )
    assert as_json(printed) == (
        '[[1, "it\'s", 12.30, "2026-11-03T07:05:09.000120+00:00", "2026-01-02", null], '
        '[2, "say \\"x\\"", 1E+5, "2026-11-03T07:05", "1899-12-31", true]]'
    )
    key = UUID(int=7)
    assert as_json(repr([{"id": key, "n": Decimal("NaN")}])) == f'[{{"id": "{key}", "n": "NaN"}}]'


def test_rows_of_a_database_server_are_listed() -> None:
    rows = [{"id": at * 37, "name": f"it's track {at}", "composer": None, "ms": 1000 + at} for at in range(400)]
    out = shortened(repr(rows))
    assert "Python values to JSON" in out
    body = out.rsplit("\n[shortened: ", 1)[0]
    json.loads(body)
    assert all(f"it's track {at}\"" in body for at in (0, 300, 399))


def test_a_string_of_json_is_what_it_holds() -> None:
    text = json.dumps("".join(f"## Heading {at}\n\n{f'prose of part {at} ' * 30}\n\n" for at in range(60)))
    out = shortened(text)
    assert "JSON string to text" in out
    assert all(f"## Heading {at}\n" in out or f"## Heading {at} …" in out for at in range(60))
    nested = shortened(json.dumps(json.dumps([{"title": f"record {at}", "body": "word " * 90} for at in range(80)])))
    assert "record 79" in nested


@pytest.mark.parametrize("zone", ["UTC", "datetime.timezone.utc", "tzutc()"])
def test_a_time_in_utc_says_so(zone: str) -> None:
    printed = f"[{{'at': datetime.datetime(2026, 11, 3, 7, 5, tzinfo={zone})}}]"
    assert as_json(printed) == '[{"at": "2026-11-03T07:05+00:00"}]'


def test_a_time_keeps_its_zone() -> None:
    assert look("[{'at': datetime.datetime(2026, 11, 3, 7, 5, tzinfo=tzlocal())}]").kind is not Kind.JSON
