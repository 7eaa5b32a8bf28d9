"""Which address and which headers the `llm` settings mean."""

from __future__ import annotations

import pytest

from bus.errors import ConfigError
from config.llm import endpoint, summarised
from config.load import load_settings
from config.place import Place
from config.schema_upstream import LlmSettings

KEYS = {"OPENAI_API_KEY": "sk-open", "ANTHROPIC_API_KEY": "sk-ant", "MINE": "my-key", "HOST": "box.example"}


@pytest.mark.parametrize(
    ("provider", "base", "url"),
    [
        ("openai", None, "https://api.openai.com/v1/chat/completions"),
        ("openai", "", "https://api.openai.com/v1/chat/completions"),
        ("openai", "https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("openai", "http://localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("openai", "https://a.example/api/v1", "https://a.example/api/v1/chat/completions"),
        ("openai", "https://g.example/v1beta/openai", "https://g.example/v1beta/openai/chat/completions"),
        ("openai", "https://${HOST}/v1", "https://box.example/v1/chat/completions"),
        ("anthropic", None, "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://proxy.example/anthropic", "https://proxy.example/anthropic/v1/messages"),
        ("ollama", None, "http://localhost:11434/api/chat"),
        ("ollama", "http://10.0.0.7:11434/", "http://10.0.0.7:11434/api/chat"),
    ],
)
def test_a_base_url_is_what_stands_before_the_api_s_own_path(provider: str, base: str | None, url: str) -> None:
    assert endpoint(LlmSettings(provider=provider, model="m", base_url=base), KEYS).url == url  # type: ignore[arg-type]


def header(settings: LlmSettings, env: dict[str, str], name: str = "authorization") -> str | None:
    return endpoint(settings, env).headers.get(name)


def test_the_key_is_a_text_a_reference_or_the_provider_s_own_variable() -> None:
    assert header(LlmSettings(api_key="direct"), KEYS) == "Bearer direct"
    assert header(LlmSettings(api_key="${MINE}"), KEYS) == "Bearer my-key"
    assert header(LlmSettings(api_key=""), KEYS) == "Bearer sk-open"
    assert header(LlmSettings(provider="anthropic", model="m"), KEYS, "x-api-key") == "sk-ant"
    assert header(LlmSettings(provider="ollama", model="m"), KEYS) is None
    assert header(LlmSettings(provider="ollama", model="m", api_key="${MINE}"), KEYS) == "Bearer my-key"


def test_a_provider_s_key_does_not_cross_a_network_in_the_clear() -> None:
    assert header(LlmSettings(base_url="https://lan.example"), KEYS) == "Bearer sk-open"
    assert header(LlmSettings(base_url="http://127.0.0.1:4000"), KEYS) == "Bearer sk-open"
    assert header(LlmSettings(base_url="http://lan.example"), KEYS) is None
    assert header(LlmSettings(base_url="http://lan.example", api_key="${MINE}"), KEYS) == "Bearer my-key"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (LlmSettings(), "OPENAI_API_KEY"),
        (LlmSettings(provider="anthropic", model="m"), "ANTHROPIC_API_KEY"),
        (LlmSettings(provider="anthropic", api_key="k"), "gpt-4.1-mini, which anthropic does not have"),
        (LlmSettings(api_key="${NOT_SET}"), "NOT_SET"),
        (LlmSettings(base_url="${NOT_SET}/v1"), "NOT_SET"),
        (LlmSettings(base_url="localhost:8000"), "base_url"),
        (LlmSettings(base_url="ftp://x.example"), "base_url"),
        (LlmSettings(base_url="https://x.example?key=1"), "base_url"),
        (LlmSettings(base_url="https://user:pass@x.example"), "base_url"),
        (LlmSettings(base_url="http://[::1"), "base_url"),
        (LlmSettings(api_key="schlüssel"), "api_key"),
        (LlmSettings(api_key="two\nlines"), "api_key"),
    ],
)
def test_what_cannot_work_names_the_setting_and_no_secret(settings: LlmSettings, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint(settings, {})
    assert said in caught.value.message
    for secret in ("schlüssel", "lines", "pass@"):
        assert secret not in caught.value.message


def test_a_key_is_not_shown_with_its_endpoint() -> None:
    assert "my-key" not in repr(endpoint(LlmSettings(api_key="my-key"), {}))


def test_what_is_summarised_is_known_by_server_and_by_tool(place: Place) -> None:
    place.config_file.write_text(
        """{"default_compression": "llm_summary", "upstream_servers": {
            "a": {"prefix": "a", "command": "x", "llm": {"model": "one"},
                  "tool_overrides": {"t": {"llm": {"model": "two"}}, "u": {"hidden": true},
                                     "v": {"compression": "auto"}}},
            "b": {"prefix": "b", "command": "x", "compression": "auto",
                  "tool_overrides": {"t": {"compression": "llm_summary"}}}}}"""
    )
    found = summarised(load_settings(place, {}).settings)
    assert {name: settings.model for name, settings in found.items()} == {
        "a": "one",
        "a/t": "two",
        "b/t": "gpt-4.1-mini",
    }
