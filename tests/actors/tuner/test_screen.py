from __future__ import annotations

import pytest

from actors.tuner.screen import screen


@pytest.mark.parametrize(
    "secret",
    [
        "hunter2",
        "correcthorsebattery",
        "'quoted secret'",
    ],
)
@pytest.mark.parametrize("frame", ["password={}", "the api_key: {} was cut", "DB_PASSWORD = {}", '"client_secret": {}'])
def test_named_values_are_masked(frame: str, secret: str) -> None:
    assert secret not in screen(frame.format(secret))


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "a1B2" * 9,
        "AKIA" + "ABCD1234" * 2,
        "sk-" + "abcd1234" * 4,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEow cut off",
    ],
)
def test_known_formats_are_masked(secret: str) -> None:
    assert secret.splitlines()[-1] not in screen(f"lost: {secret}")


def test_passwords_in_addresses_are_masked() -> None:
    assert screen("postgres://app:s3cret@db/x lost") == "postgres://***@db/x lost"


@pytest.mark.parametrize(
    "text",
    [
        "lines 40-80 of the log",
        "the JSON key: name of each item",
        "함수 서명이 없음: parse(a, b)",
        "status: 404, retries=3",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert screen(text) == text


@pytest.mark.parametrize("piece", ["password", "a=", "-----BEGIN PRIVATE KEY-----", "x", ":", "key:1\n", '"', "://@"])
def test_hostile_text_is_screened_and_never_grows_much(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    assert len(screen(text)) <= 3 * len(text)
