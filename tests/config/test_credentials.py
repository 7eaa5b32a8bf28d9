"""What reads as a secret is masked; what only talks about secrets is not."""

from __future__ import annotations

import json

import pytest

from config.credentials import is_credential, mask, may_hold_credential
from tests.actors.compressor import texts


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"password": "hunter2"}', '{"password": [masked]}'),
        ("API_KEY=abc123def456", "API_KEY=[masked]"),
        ("client_secret: 9f8e7d6c5b4a", "client_secret: [masked]"),
        ("https://user:pa55@host/path", "https://[masked]@host/path"),
        ("Authorization: Bearer abcdef1234567890abcd", "Authorization: Bearer [masked]"),
        ("key AKIAIOSFODNN7EXAMPLE here", "key [masked] here"),
        ("ghp_" + "a1B2" * 9, "[masked]"),
        ("sk-ant-api03-" + "x" * 30, "[masked]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef", "[masked]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\n-----END RSA PRIVATE KEY-----", "[masked]"),
        ("비밀번호: hunter22", "비밀번호: [masked]"),
    ],
)
def test_secrets(text: str, masked: str) -> None:
    assert mask(text) == masked
    assert is_credential(text)


@pytest.mark.parametrize(
    "text",
    [
        "password: required",
        "The password is required at login.",
        "Rotate the refresh token on every use.",
        "api_key = ${API_KEY}",
        "secret: <your secret>",
        "Bearer tokens expire after 15 minutes",
        "Use basic authentication internally",
        "https://example.com/path?key=value",
        "token bucket with 100 requests",
        "8cd9b060-1111-4222-8333-444455556666",
        "src/secret_store/key_rotation.py",
    ],
)
def test_talk_about_secrets(text: str) -> None:
    assert mask(text) == text
    assert not is_credential(text)


@pytest.mark.parametrize(
    "text", ["password" * 20_000, "a:" * 100_000, "-----BEGIN " * 20_000, "://" + "a" * 200_000, "key= " * 50_000]
)
def test_regex_fodder_ends_and_masking_is_stable(text: str) -> None:
    assert mask(mask(text)) == mask(text)  # a quadratic pattern would not come back from these


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
        "key AKIA" + "IOSFODNN7EXAMPLE end",
        "ghp_" + "a1B2" * 9,
        "xoxb-" + "123456789012-abcdef",
        "sk-ant-" + "api03-abcdefghijklmnop",
        "AIza" + "Sy" + "a1B2c" * 7,
        "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",
        "postgres://app:" + "s3cr3t@db.example.org/x",
        '"password": "hunter2"',
        "DB_PASSWORD=correct-horse",
        "api_key: 0123456789abcdef",
        "Authorization: Bearer abcdef0123456789",
        json.dumps({"log": json.dumps({"client_secret": "abcdefgh12345"})}),
    ],
)
def test_any_part_of_a_large_text_counts(text: str) -> None:
    assert may_hold_credential(f"{texts.log(50)}{text}\n{texts.log(50)}")


@pytest.mark.parametrize(
    "text",
    [
        "token budget: 4000",
        "the password must be changed",
        "password: <redacted>",
        "api_key=${API_KEY}",
        "https://example.org/a:b/c",
        "secret = [1]",
        "\ud800 surrogate",
    ],
)
def test_large_texts_that_only_talk_about_secrets(text: str) -> None:
    assert not may_hold_credential(text)


@pytest.mark.parametrize("kind", sorted(texts.KINDS))
def test_ordinary_texts(kind: str) -> None:
    assert not may_hold_credential(texts.KINDS[kind])
