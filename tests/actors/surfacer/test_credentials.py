"""What reads as a secret is masked; what only talks about secrets is not."""

from __future__ import annotations

import pytest

from actors.surfacer.credentials import looks_like_credential, mask


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
    assert looks_like_credential(text)


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
    assert not looks_like_credential(text)


@pytest.mark.parametrize(
    "text", ["password" * 20_000, "a:" * 100_000, "-----BEGIN " * 20_000, "://" + "a" * 200_000, "key= " * 50_000]
)
def test_regex_fodder_ends_and_masking_is_stable(text: str) -> None:
    assert mask(mask(text)) == mask(text)  # a quadratic pattern would not come back from these
