from __future__ import annotations

import json

import pytest

from actors.compressor.secrets import looks_like_credential
from tests.actors.compressor import texts


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
def test_credentials(text: str) -> None:
    assert looks_like_credential(f"{texts.log(50)}{text}\n{texts.log(50)}")


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
def test_what_only_talks_about_them(text: str) -> None:
    assert not looks_like_credential(text)


@pytest.mark.parametrize("kind", sorted(texts.KINDS))
def test_ordinary_texts(kind: str) -> None:
    assert not looks_like_credential(texts.KINDS[kind])
