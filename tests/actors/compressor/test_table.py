"""Tables: what stays of their rows, and numbers that no table should have."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from actors.compressor.detect import Kind, detect
from actors.compressor.grid import odd, read
from actors.compressor.survey import survey
from actors.compressor.tabular import headless
from actors.compressor.thin import LARGE
from tests.actors.compressor import texts
from tests.actors.compressor.texts import shortened, without_note
from tests.bench.compress import peak


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
        " ".join([f"name{at} of the list", *["of it"] * (at * 7 % 3)]) for at in range(90)
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


def long_table(rows: int, mark: str = ",") -> list[str]:
    rng = random.Random(5)
    lines = [mark.join(("id", "customer", "country", "plan", "seats", "status"))]
    for at in range(rows):
        cells = (str(at), f"Customer {rng.randint(1, 9999)} GmbH", rng.choice(("DE", "FR", "KR")), "team")
        lines.append(mark.join((*cells, str(rng.randint(1, 90)), "active" if at % 20 else "trial")))
    return lines


@pytest.mark.parametrize("mark", [",", "\t", ";"])
def test_the_odd_row_of_a_very_long_table_and_counts_of_all_of_it_stay(mark: str) -> None:
    lines = long_table(30_000, mark)
    odd_row = mark.join(("23456", "Nordwind AG", "DE", "enterprise", "4100", "churned"))
    lines[23_457] = odd_row
    text = "\n".join(lines) + "\n"
    assert len(text) > LARGE
    out = shortened(text)
    assert out.startswith(lines[0] + "\n" + lines[1])
    assert odd_row in out
    assert lines[-1] in out
    assert "plan: team 29999, enterprise 1 | status: active 28499, trial 1500, churned 1]" in out
    assert " of 30000 rows " in out
    # What is left out is named by the lines of the whole table.
    position = 0
    for line in without_note(out).splitlines():
        gap = re.fullmatch(r"\[lines? (\d+)(?:-(\d+))?\]", line)
        if gap:
            assert int(gap[1]) == position + 1
            position = int(gap[2] or gap[1])
        elif not line.startswith("[counts"):
            assert line == lines[position]
            position += 1
    assert position == len(lines)


@pytest.mark.parametrize("rows", range(10_250, 10_264))
def test_a_long_table_of_any_number_of_rows_is_one(rows: int) -> None:
    """However few of them are left behind its last whole block."""
    lines = [
        "number,customer,seats,state",
        *(f"{at:06},{'customer of ours':>20},{at % 90:03},active" for at in range(rows)),
    ]
    found = survey("\n".join(lines), "", 12)
    assert found is not None
    assert found.rows.total_lines == rows + 1
    assert found.counts[3] == {"active": rows}


def test_the_query_reaches_into_a_very_long_table() -> None:
    lines = long_table(30_000)
    lines[17_001] = "17000,Nordwind GmbH,DE,team,12,active"
    assert lines[17_001] in shortened("\n".join(lines), query="Nordwind")


def test_a_very_long_table_is_never_there_as_cells_as_a_whole() -> None:
    assert peak("\n".join(long_table(40_000))) < 10


def test_rows_under_no_header_are_a_table() -> None:
    lines = [
        f"ii  package-{at * 7919 % 9973:04}  1.{at}-2  {'all' if at % 3 else 'amd64'}  some words" for at in range(400)
    ]
    lines[123] = "rc  package-left-over  0.9-1  all  some words"
    text = "Desired=Unknown/Install\n| Status=Not/Inst\n" + "\n".join(lines)
    out = shortened(text)
    assert detect(text) is Kind.TABLE
    assert lines[123] in out
    assert "| column 4: all 267, amd64 133]" in out
    assert "[column 2 of all rows: package-0000 package-7919 " in out
    assert all(line.split()[1] in out for line in lines)


def test_the_first_names_stay_where_not_all_of_them_fit() -> None:
    text = "\n".join(f"{at % 7:04x} {'TWBD'[at % 4]} symbol_with_a_long_name_{at * 7919 % 99_991}" for at in range(900))
    out = shortened(text)
    found = re.search(r"\[column 3 of the first (\d+) rows: ", out)
    assert found is not None
    assert 100 < int(found[1]) < 900
    assert f"the others by column 3 up to row {found[1]} |" in out


@pytest.mark.parametrize(
    "line",
    [
        lambda at: f"The {at}. of these sentences has {'many ' * (at % 5)}words in it.",
        lambda at: f"{at} {at * 7 % 97} {at * 3 % 89}",  # no names
        lambda at: "the same three words again",
    ],
)
def test_other_lines_are_no_rows(line: Callable[[int], str]) -> None:
    assert headless([line(at) for at in range(200)]) is None


def test_a_row_that_is_far_too_long_does_not_undo_the_table() -> None:
    rows = [f"module_{at},v1.{at},{'served' if at % 3 else 'refused'} by one of the mirrors" for at in range(350)]
    rows[200] = f"module_200,v1.200,served with notes {'word ' * 400}zebra crossing {'word ' * 400}"
    text = "module,version,state\n" + "\n".join(rows)
    out = shortened(text)
    assert all(f"module_{at}" in out for at in range(350))
    assert len(next(line for line in out.splitlines() if line.startswith("module_200,"))) < 500
    assert " […" in out
    asked = shortened(text, query="zebra crossing")
    assert "zebra crossing" in asked
    assert "zebra crossing" not in out


def test_frames_of_box_drawing_are_tables_and_rows_go_on_below() -> None:
    rule = "├" + "┼".join("─" * 18 for _ in range(4)) + "┤"
    lines = ["ghcr.io/acme/api:1.4 (debian 12.5)", "=" * 34, "Total: 200 (LOW: 198, CRITICAL: 2)", "", rule]
    lines += [f"│ {'Library':<16} │ {'Vulnerability':<16} │ {'Severity':<16} │ {'Title':<16} │", rule]
    for at in range(200):
        severity = "CRITICAL" if at in (77, 150) else "LOW"
        lines.append(f"│ {f'lib{at}':<16} │ {f'CVE-2026-{at:04}':<16} │ {severity:<16} │ {f'title {at}':<16} │")
        lines += [f"│ {'':<16} │ {'':<16} │ {'':<16} │ {f'avd/{at}':<16} │", rule]
    text = "\n".join(lines)
    out = shortened(text)
    assert detect(text) is Kind.TABLE
    assert "Total: 200 (LOW: 198, CRITICAL: 2)" in out
    assert "| CVE-2026-0077" in out.replace("│", "|")
    assert "| CVE-2026-0150" in out.replace("│", "|")
    assert "[counts | Severity: LOW 198, CRITICAL 2]" in out
    assert all(f"CVE-2026-{at:04}" in out for at in range(200))
    assert out.count("──┼──") <= 4 * 3


@pytest.mark.parametrize("named", [False, True])
def test_printed_data_frames_keep_their_odd_row(named: bool) -> None:
    rows = [
        f"2026-01-{at % 28 + 1:02}  TOK{at:03}  {at % 97}.50  {at * 7 % 89}.25  {154_052 + at}" for at in range(400)
    ]
    rows[222] = "2026-01-27  TOK222  33.50  11.25  99887766"
    head = f"{' ' * 10}  symbol  open  close  volume\n" + (f"date{' ' * 40}\n" if named else "")
    text = head + "\n".join(rows) + "\n\n[400 rows x 4 columns]\n"
    out = shortened(text)
    assert detect(text) is Kind.TABLE
    assert rows[222] in out
    assert "[400 rows x 4 columns]" in out
    assert " of 400 rows" in out


def test_line_breaks_in_cells_do_not_undo_a_table() -> None:
    rows = [f'{at},"name of {at}","two lines\nof ""notes"" {at}",{at % 50}.5' for at in range(400)]
    rows[170] = '170,"name of 170","two lines\nof notes",990000.5'
    text = "id,title,notes,amount\n" + "\n".join(rows) + "\n"
    out = shortened(text)
    assert '170,"name of 170","two lines of notes",990000.5' in out
    assert "line breaks in cells" in out
    assert " of 400 rows, the others by title" in out
    assert all(f"name of {at}" in out for at in range(400))


def test_a_sentence_over_columns_is_no_header() -> None:
    lines = ["vite v7.1.2 building for production..."]
    lines += [f"dist/part-{at}.js   {at}.15 kB | gzip: {at // 3}.87 kB" for at in range(300)]
    out = shortened("\n".join(lines))
    assert out.startswith(lines[0])
    assert "building:" not in out
    assert "dist/part-77.js" in out
