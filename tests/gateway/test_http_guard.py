"""Who may call a gateway that listens for a whole network."""

from __future__ import annotations

import pytest

from gateway.http_guard import Denied, Guard

GUARD = Guard("a-token-of-some-length", "0.0.0.0", ["mcp.example.org"])


def status(**headers: str) -> int:
    given = {"host": "10.0.0.5:8765", "authorization": "Bearer a-token-of-some-length", **headers}
    try:
        GUARD.check({name: value for name, value in given.items() if value})
    except Denied as denied:
        return denied.status
    return 200


@pytest.mark.parametrize("host", ["10.0.0.5:8765", "mcp.example.org", "MCP.EXAMPLE.ORG:443", "[::1]:8765", "localhost"])
def test_addresses_and_named_hosts_are_served(host: str) -> None:
    assert status(host=host) == 200


@pytest.mark.parametrize("host", ["", "evil.example", "mcp.example.org.evil.example", "localhost.evil.example", "["])
def test_other_names_are_not(host: str) -> None:
    assert status(host=host) == 421


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://mcp.example.org", 200),
        ("http://127.0.0.1:3000", 200),
        ("https://evil.example", 403),
        ("http://10.0.0.6", 403),
        ("null", 403),
        ("file://", 403),
        ("http://[", 403),
    ],
)
def test_pages_of_other_origins_are_refused(origin: str, expected: int) -> None:
    assert status(origin=origin) == expected


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", "Basic a-token-of-some-length", "a-token-of-some-length"]
)
def test_the_token_is_wanted_as_a_bearer_token(given: str) -> None:
    assert status(authorization=given) == 401
