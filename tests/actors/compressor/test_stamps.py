"""Lines with a time or a service put before them are judged by what stands behind it."""

from __future__ import annotations

import pytest

from actors.compressor.detect import Kind, detect
from actors.compressor.messages import Policy
from actors.compressor.stamps import bodies, unstamped
from actors.compressor.units import split
from tests.actors.compressor.texts import shortened

STAMPS = {
    "github": "2026-03-01T07:{m:02}:{s:02}.0318668Z ",
    "docker": "2026-03-01T07:{m:02}:{s:02}.031866801Z ",
    "gitlab": "2026-03-01T07:{m:02}:{s:02}.031866Z 01O ",
    "jenkins": "[2026-03-01T07:{m:02}:{s:02}.031Z] ",
    "zone": "2026-03-01T07:{m:02}:{s:02}+09:00 ",
    "clock": "07:{m:02}:{s:02} ",
}
FAILURE = [
    " FAIL  src/prorate.test.ts > prorate > counts the leap day once",
    "AssertionError: expected 2930 to be 2900",
    " ❯ src/prorate.test.ts:118:27",
]
END = ["      Tests  1 failed | 899 passed (900)", "##[warning]Node.js 16 is deprecated", "##[error]exit code 1", "bye"]


def run_of_tests() -> list[str]:
    names = ("tax", "cart", "label", "route")
    lines = [f" ✓ src/{names[at % 4]}.{at}.test.ts ({at % 17 + 2} tests) {at * 31 % 900}ms" for at in range(900)]
    return [*lines[:520], *FAILURE, *lines[520:], *END]


def stamped(form: str, lines: list[str]) -> list[str]:
    return [form.format(m=at // 60 % 60, s=at % 60) + line for at, line in enumerate(lines)]


@pytest.mark.parametrize("form", sorted(STAMPS))
def test_what_stands_behind_the_times_decides(form: str) -> None:
    lines = stamped(STAMPS[form], run_of_tests())
    out = shortened("\n".join(lines), policy=Policy(max_chars=4_000))
    for wanted in (*FAILURE, *END):
        assert next(line for line in lines if line.endswith(wanted)) in out


@pytest.mark.parametrize("form", sorted(STAMPS))
def test_each_unit_keeps_its_line_and_loses_its_time(form: str) -> None:
    lines = ["first: x", "  second", "third"] * 20
    units = split("\n".join(stamped(STAMPS[form], lines)))
    assert bodies(units).units.contents == lines
    assert unstamped(units.contents) == lines


def test_where_some_lines_have_no_time_all_keep_theirs() -> None:
    lines = ["2026-03-01 07:00:00 ERROR failed", "  at Foo.bar(Foo.java:1)"] * 20
    assert unstamped(lines) is lines
    units = split("\n".join(lines))
    assert bodies(units).units is units


def test_services_and_times_are_both_taken_off() -> None:
    units = split("\n".join(f"web-{at % 2} | 2026-03-01T07:00:{at % 60:02}.1Z ready {at}" for at in range(100)))
    found = bodies(units)
    assert found.services[:2] == ["web-0", "web-1"]
    assert found.units.contents[:2] == ["ready 0", "ready 1"]


def test_tasks_of_one_run_are_services() -> None:
    found = bodies(split("\n".join(f"@acme/pay{at % 3}:test: checked {at}" for at in range(60))))
    assert set(found.services) == {"@acme/pay0:test", "@acme/pay1:test", "@acme/pay2:test"}
    assert found.units.contents[7] == "checked 7"


def test_levels_and_places_are_no_services() -> None:
    for line in ("ERROR:ledger: it broke", "src/a.py:12: unused", "12:30: lunch"):
        assert not any(bodies(split("\n".join([line] * 40))).services)


def test_findings_behind_times_are_findings() -> None:
    lines = [f"src/a{at}.py:{at}:80: E501 line too long ({at + 80} > 79 characters)" for at in range(1, 300)]
    lines.insert(150, "src/pay.py:7:1: F821 undefined name 'ledger'")
    text = "\n".join(stamped(STAMPS["github"], lines))
    assert detect(text) is Kind.FINDINGS
    assert shortened(text).startswith("F821 undefined name 'ledger'\n  src/pay.py:7:1\n")
