"""Requests that failed stand out from those that look alike but for their number."""

from __future__ import annotations

import pytest

from actors.compressor.states import states
from actors.compressor.units import split
from tests.actors.compressor.texts import shortened

FORMS = {
    "network": ("reqid={x} GET https://app.example.org/v2/{x}?page={y} [success - {state}]", "[success - {state}]"),
    "browser": ("[GET] https://cdn.example/assets/{x:x}.js => [{state}] ", "=> [{state}]"),
    "access log": (
        '10.1.32.{y} - - [01/Mar/2026:07:00:{y:02} +0000] "GET /files/{x} HTTP/1.1" {state} {x}',
        '" {state} ',
    ),
    "client": (
        '2026-03-01 07:00:{y:02} INFO httpx: GET https://api.example/{x} "HTTP/1.1 {state} X"',
        "HTTP/1.1 {state} ",
    ),
    "key": ("2026-03-01T07:00:{y:02}Z method=GET path=/v1/{x} status={state} bytes={x}", "status={state} "),
    "bars": ('[GIN] 2026/03/01 - 07:00:{y:02} | {state} | {y}.5ms | 10.0.0.{y} | GET "/v1/{x}"', "| {state} |"),
}


def requests(form: str) -> list[str]:
    lines = [
        FORMS[form][0].format(x=at * 7919 % 99991, y=at % 60, state=200 + 104 * (at % 9 == 0)) for at in range(700)
    ]
    for at, state in ((200, 422), (300, 503), (400, 499)):
        lines[at] = FORMS[form][0].format(x=at * 7919 % 99991, y=at % 60, state=state)
    return lines


@pytest.mark.parametrize("form", sorted(FORMS))
def test_rare_states_are_found(form: str) -> None:
    lines = requests(form)
    assert {200, 300, 400} <= set(states(split("\n".join(lines))))
    out = shortened("\n".join(lines))
    assert all(FORMS[form][1].format(state=state) in out for state in (422, 499, 503))


def test_a_request_that_got_no_answer_stays() -> None:
    lines = requests("browser")
    lines[500] = "[GET] https://fonts.example/serif.woff2 => net::ERR_CERT_DATE_INVALID"
    assert lines[500] in shortened("\n".join(lines))


def test_numbers_where_nothing_went_well_are_no_states() -> None:
    assert states(split("\n".join(f'said "x" 4{at % 90 + 10} times' for at in range(200)))) == []


def test_states_that_many_requests_end_with_do_not_stand_out() -> None:
    lines = [FORMS["access log"][0].format(x=at, y=at % 60, state=200 if at % 3 else 404) for at in range(300)]
    assert states(split("\n".join(lines))) == []
