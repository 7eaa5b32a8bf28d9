"""Tables: what stays of their rows, and numbers that no table should have."""

from __future__ import annotations

import re

import pytest

from actors.compressor.grid import odd, read
from tests.actors.compressor import texts
from tests.actors.compressor.texts import shortened


def test_a_table_keeps_header_odd_row_last_row_and_counts() -> None:
    text = texts.table(600, 350)
    lines = text.splitlines()
    out = shortened(text)
    kept = out.splitlines()
    assert kept[0] == lines[0]
    assert lines[351] in kept
    assert lines[-1] in kept
    assert "DISPUTED 1" in out
    assert re.search(r"\[lines \d+-351\]", out)


def test_a_wide_table_keeps_the_name_of_every_row() -> None:
    rows = "\n".join(f"JOB-{at * 7},{'a longer description of it ' * 3},{at % 3},done" for at in range(300))
    out = shortened(f"job,description,try,state\n{rows}\n")
    assert all(f"JOB-{at * 7}" in out for at in range(300))
    assert "[job of all rows: JOB-0 JOB-7 " in out


@pytest.mark.parametrize("number", ["99999", "9" * 50, "-7,000,000.5"])
def test_a_number_far_from_all_others_stands_out(number: str) -> None:
    lines = ["NAME  PLACE  SIZE", *(f"item-{at}  hall {at}  {at % 9}" for at in range(100))]
    lines[60] = f"item-59  hall 59  {number}"
    grid = read(lines)
    assert grid is not None
    assert odd(grid) == [59]


def test_a_number_too_large_to_reckon_with_is_a_cell_like_others() -> None:
    rows = [f"{at},item number {at},{at % 9}" for at in range(2_000)]
    rows[700] = f"700,item number 700,{'9' * 200}"
    out = shortened("\n".join(["id,name,count", *rows]))
    assert out.startswith("id,name,count\n0,item number 0,0\n")


def profile(count: int) -> str:
    lines = ["         9999 function calls in 0.9 seconds", "", "   Ordered by: cumulative time", ""]
    lines.append("   ncalls  tottime  percall  cumtime  percall filename:lineno(function)")
    lines += [
        f"   {count - at:6}    0.00{at % 10}    0.000    {(count - at) / 1000:.3f}    0.000 m{at}.py:{at}(run{at})"
        for at in range(count)
    ]
    return "\n".join(lines) + "\n"


def test_a_table_of_measures_behind_some_words_keeps_its_head() -> None:
    out = shortened(profile(900))
    assert "9999 function calls in 0.9 seconds" in out
    assert "filename:lineno(function)" in out
    assert all(f"(run{at})" in out for at in range(24))
    assert re.search(r"\[shortened: \d+ of 900 rows", out)


def test_prose_before_a_list_is_no_table() -> None:
    text = "Some words first.\n\nThen the list of names comes\n" + "\n".join(
        f"name{at} of the list" for at in range(90)
    )
    assert read(text.split("\n")) is None


def test_what_a_tool_puts_before_each_line_is_no_name() -> None:
    rows = "\n".join(f"import time: {at % 90:6} | compiled anew on this start | p{at}" for at in range(400))
    out = shortened(f"import time: self [us] | how | imported package\n{rows}\n")
    assert all(f" p{at}" in out for at in range(400))
    assert "[imported package of all rows: p0 p1 " in out


def test_the_largest_of_many_small_measures_stand_out() -> None:
    lines = ["NAME  KIND  MS", *(f"item-{at}  page  {10 + at % 7}" for at in range(300))]
    lines[100], lines[200] = "item-99  page  900", "item-199  page  870"
    grid = read(lines)
    assert grid is not None
    assert {99, 199} <= set(odd(grid))


@pytest.mark.parametrize("cell", ['"' + "x" * 200_000, "a\rb"])
def test_cells_that_no_reader_takes_are_no_table(cell: str) -> None:
    rows = [f"{at},name {at},{at * 3},{at % 7}" for at in range(100)]
    rows[60] = f"60,{cell},180,4"
    assert read(["id,name,size,state", *rows]) is None
