"""What an address of an HTTP server may be, and who is this machine."""

from __future__ import annotations

import pytest

from config.address import address_fault, host_of, is_loopback


@pytest.mark.parametrize(
    "url", ["https://a.example", "http://[::1]:80/mcp?k=1", "https://u:p@a.example/x#y", "${URL}/x"]
)
def test_what_a_server_can_be_reached_at(url: str) -> None:
    assert address_fault(url) == ""


@pytest.mark.parametrize(
    "url", ["", "a.example", "ftp://a.example", "https://", "http://a:0", "http://a:99999", "http://[::1", "http://a b"]
)
def test_what_is_no_address(url: str) -> None:
    assert address_fault(url).startswith("is no address")


@pytest.mark.parametrize(
    "url", ["https://u:p@a.example", "https://a.example/?k=1", "https://a.example/#x", "https://a.example/?"]
)
def test_what_is_more_than_a_plain_address(url: str) -> None:
    fault = address_fault(url, plain=True)
    assert fault.startswith("is more than an address")
    assert "a.example" not in fault


def test_the_host_of_an_address() -> None:
    assert [host_of(url) for url in ("https://A.example:1/x", "//b.example", "http://[::1", "x")] == [
        "a.example",
        "b.example",
        "",
        "",
    ]


def test_what_is_loopback() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.9", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "a.example")))
