"""Rows written out with a line for each column."""

from __future__ import annotations

import json

import pytest

from actors.compressor.detect import Kind, look
from actors.compressor.expanded import rows_as_json
from tests.actors.compressor.texts import shortened

MYSQL = """\
*************************** 1. row ***************************
     Id: 7
   Host: 10.2.0.1:4711
  State:
   Time: 0012
   Info: SELECT *
FROM ledger
WHERE at > '10:30'
*************************** 2. row ***************************
     Id: 8
   Host: localhost
  State: Waiting for table metadata lock
   Time: -1.50
   Info: NULL
2 rows in set (0.01 sec)
"""
PSQL = """\
-[ RECORD 1 ]---+------------
id              | 7
name            | Kim
note            | two        +
                | lines
-[ RECORD 2 ]---+------------
id              | 8
name            | a | b
note            |
(2 rows)
"""


def test_mysql_rows_keep_their_values_as_printed() -> None:
    written = rows_as_json(MYSQL)
    assert written is not None
    assert "-1.50" in written
    assert json.loads(written) == [
        {
            "Id": 7,
            "Host": "10.2.0.1:4711",
            "State": "",
            "Time": "0012",
            "Info": "SELECT *\nFROM ledger\nWHERE at > '10:30'",
        },
        {"Id": 8, "Host": "localhost", "State": "Waiting for table metadata lock", "Time": -1.5, "Info": "NULL"},
    ]


def test_psql_rows_keep_their_values_as_printed() -> None:
    written = rows_as_json(PSQL)
    assert written is not None
    assert json.loads(written) == [
        {"id": 7, "name": "Kim", "note": "two\nlines"},
        {"id": 8, "name": "a | b", "note": ""},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "********",
        "*************************** 1. row ***************************\n",
        "*************************** 1. row ***************************\nId: 7\n",
        "********************* 1. row *********************\nId: 7\n********************* 2. row ***\n",
        "-[ RECORD 1 ]-\n-[ RECORD 2 ]-\n",
        "-[ RECORD 1 ]-\nid | 1\nid | 2\n-[ RECORD 2 ]-\nid | 3\nid | 4\n",
        "**bold** words\n- [ ] a task\n",
    ],
)
def test_other_texts_are_none(text: str) -> None:
    assert rows_as_json(text) is None


def test_rows_written_out_are_shortened_as_records() -> None:
    rows = []
    for at in range(200):
        state = "Waiting for table metadata lock" if at == 122 else ""
        rows.append(
            f"*************************** {at + 1}. row ***************************\n     Id: {1_000 + at}\n"
            f"   User: service_{at}\n   Host: 10.2.{at % 9}.{at % 250}:{30_000 + at}\n  State: {state}\n"
        )
    text = "".join(rows) + "200 rows in set (0.01 sec)\n"
    assert look(text).kind is Kind.JSON
    out = shortened(text)
    assert "Waiting for table metadata lock" in out
    assert out.count("service_") == 200
    assert "rows written out to JSON" in out


def test_endless_lines_are_read_in_the_time_of_their_length() -> None:
    text = f"-[ RECORD 1 ]-\n{' ' * 1_000_000}\nid | {'|' * 1_000_000}\n-[ RECORD 2 ]-\nid | 1\n"
    written = rows_as_json(text)
    assert written is not None
    assert len(json.loads(written)[0]["id"]) == 1_000_000
