"""Public URIs of resources: reversible, and different for different servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.uris import Names, matches

PREFIX = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,3}(_[a-z0-9]{1,2})?", fullmatch=True)
PREFIXES = st.lists(PREFIX, unique=True, max_size=6)
SCHEMES = st.from_regex(r"[a-z][a-z0-9+.-]{0,6}", fullmatch=True)


@given(PREFIXES, SCHEMES, st.text(max_size=20))
def test_every_server_has_its_own_and_knows_it_again(prefixes: list[str], scheme: str, rest: str) -> None:
    names = Names(prefixes)
    uri = f"{scheme}:{rest}"
    public = [names.public(prefix, uri) for prefix in prefixes]
    assert len({name.lower() for name in public}) == len(prefixes)
    assert [names.own(name) for name in public] == [(prefix, uri) for prefix in prefixes]


def test_a_scheme_that_a_client_has_made_lower_case_is_known() -> None:
    names = Names(["Fs", "x_a"])
    assert names.public("Fs", "file:///A b") == "fs+file:///A b"
    assert names.own("fs+file:///A b") == names.own("FS+file:///A b") == ("Fs", "file:///A b")
    assert names.public("x_a", "res://a") == "x.a+res://a"


def test_a_single_server_without_a_prefix_keeps_its_uris() -> None:
    names = Names([""])
    assert names.public("", "res://a") == "res://a"
    assert names.own("res://a") is None


def test_what_is_no_uri_has_no_public_one() -> None:
    assert Names(["a"]).public("a", "just a name") == ""


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("res://{id}", "res://a", True),
        ("res://{id}", "res://a/b", False),
        ("file:///{+path}", "file:///a/b", True),
        ("res://{id}/x", "res://a/y", False),
        ("http://h/{?q}", "http://h/?q=1", True),
        ("res://a.b/{id}", "res://aXb/1", False),
    ],
)
def test_templates(template: str, uri: str, fits: bool) -> None:
    assert matches(template, uri) is fits
