"""No secret is shown, and no more than secrets is hidden."""

import json

import pytest

from config.mask import mask_args, mask_document, mask_text

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "args",
    [
        ["--api-key", SECRET],
        [f"--api-key={SECRET}"],
        [f"--apiKey={SECRET}"],
        ["--token", SECRET, "--verbose"],
        ["-e", f"GITHUB_TOKEN={SECRET}"],
        ["--header", f"Authorization: Bearer {SECRET}"],
        ["--header", f"X-Api-Key: {SECRET}"],
        [f"--header=X-Api-Key: {SECRET}"],
        ["--header", f"Authorization:Bearer {SECRET}"],
        [f"postgres://user:{SECRET}@db/x"],
        [f"--dsn=postgres://user:{SECRET}@db/x"],
        [f"DATABASE_URL=postgres://user:{SECRET}@db/x"],
        [f"https://x/mcp?access_token={SECRET}&a=1"],
        [f"https://x/mcp?a=1#token={SECRET}"],
        [f"https://user@{SECRET}@host/"],
        ["--password", SECRET],
        ["--config", json.dumps({"apiKey": SECRET})],
        ["--secret", f"${{X:-{SECRET}}}"],
    ],
)
def test_credentials_in_arguments(args: list[str]) -> None:
    assert SECRET not in " ".join(mask_args(args))


@pytest.mark.parametrize(
    "text",
    [
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "sk-proj-0123456789abcdefghij",
        "xoxb-123456789012-abcdefghijkl",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk",
    ],
)
def test_well_known_formats_anywhere(text: str) -> None:
    assert text not in mask_text(f"say {text} now")
    assert mask_args([text]) == ["***"]


def test_what_is_no_secret_stays() -> None:
    args = [
        "-y",
        "@scope/server",
        "--max-tokens",
        "500",
        "--root=/srv/keys",
        "https://x/mcp?page=2",
        "--token",
        "${TOKEN}",
    ]
    assert mask_args(args) == args
    assert mask_args(["--token", "--verbose", "x"]) == ["--token", "--verbose", "x"]


def test_references_in_headers_stay() -> None:
    headers = {"Authorization": "Bearer ${TOKEN}", "X": "${X}"}
    assert mask_document({"headers": headers}) == {"headers": headers}
    assert mask_document({"headers": {"Authorization": "Bearer ${TOKEN}x"}}) == {"headers": {"Authorization": "***"}}


def test_documents_keep_their_shape() -> None:
    document = {
        "upstream_servers": {
            "a": {
                "command": "npx",
                "args": ["--api-key", SECRET],
                "env": {"A": SECRET, "B": "${B}", "C": f"${{C:-{SECRET}}}"},
                "headers": {"X": SECRET},
                "url": f"https://u:{SECRET}@h/p?key={SECRET}",
                "llm": {"api_key": SECRET, "model": "m"},
                "max_result_tokens": 5,
                "origin": {"original": {"env": {"A": SECRET}, "password": SECRET}},
            }
        },
        "langfuse": {"secret_key": SECRET, "enabled": True},
        "surfacing": {"ltm_mcp_headers": {"X": SECRET}, "ltm_mcp_args": ["--token", SECRET]},
    }
    masked = mask_document(document)
    assert SECRET not in json.dumps(masked)
    server = masked["upstream_servers"]["a"]
    assert server["env"] == {"A": "***", "B": "${B}", "C": "${C:-***}"}
    assert server["url"] == "https://***@h/p?key=***"
    assert server["llm"]["model"] == "m"
    assert server["max_result_tokens"] == 5
    assert masked["langfuse"]["enabled"] is True


def test_settings_about_tokens_are_no_secrets() -> None:
    settings = {"token_estimation_mode": "unicode", "max_tokens": "5", "token-limit": "7"}
    assert mask_document(settings) == settings
    assert mask_document({"github_token": "x", "token": "y", "tokenFile": "z"}) == dict.fromkeys(
        ("github_token", "token", "tokenFile"), "***"
    )
