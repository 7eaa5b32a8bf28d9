"""Which metadata carries a credential: a secret missed is shown to a model, a false alarm costs a tool."""

from __future__ import annotations

from typing import Any

import pytest

from actors.upstream.sensitive import carries_credential

KEY = "sk-" + "ant-api03-" + "A1b2C3d4" * 6


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": f"use_{KEY}"},
        {"description": f"Use the key {KEY} to log in."},
        {"inputSchema": {"properties": {"k": {"default": KEY}}}},
        {"annotations": {"title": f"Log in with {KEY}"}},
        {"icons": [{"src": "https://bot:Tr0ub4dor@icons.example.org/a.png"}]},
        {"_meta": {"vendor": [{"api_key": "a1b2c3d4e5f6"}]}},
        {"description": "Connects to postgres://admin:Tr0ub4dor3@db/main"},
        {"description": "curl -H 'Authorization: Bearer 9f8e7d6c5b4a39281706'"},
    ],
)
def test_a_secret_is_found_wherever_it_is(metadata: dict[str, Any]) -> None:
    assert carries_credential({"name": "t", "inputSchema": {"type": "object"}, **metadata})


@pytest.mark.parametrize(
    "metadata",
    [
        {"description": "Set the password. The password: required, at least 8 characters."},
        {"description": "Connection string, e.g. postgresql://user:password@localhost:5432/db"},
        {"description": "e.g. mysql://<user>:<password>@host or https://me:${TOKEN}@host"},
        {"description": "e.g. amqp://guest:guest@localhost, or redis://:xxxxxxxxxxxx@cache"},
        {"description": "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
        {"inputSchema": {"properties": {"auth": {"examples": [{"access_token": "OAuth2", "secret": "base64-text"}]}}}},
        {"description": "Send `Authorization: Bearer <token>`, or api_key=YOUR_KEY in the query."},
        {"inputSchema": {"properties": {"password": {"type": "string"}, "api_key": {"description": "Your key."}}}},
        {"inputSchema": {"required": ["secret", "token"], "$schema": "https://json-schema.org/draft/2020-12/schema"}},
        {"_meta": {"sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
    ],
)
def test_talk_about_secrets_is_none(metadata: dict[str, Any]) -> None:
    assert not carries_credential({"name": "t", "inputSchema": {"type": "object"}, **metadata})
