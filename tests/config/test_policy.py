"""Tool → upstream → global → model."""

from collections.abc import Callable
from typing import Any

import pytest

from config.load import Loaded
from config.models import LARGE, MEDIUM, SMALL, budget_for, context_window
from config.policy import (
    InjectionPolicy,
    ToolPolicy,
    advertises_admin,
    advertises_formation,
    injection_policy,
    tool_policy,
)
from config.session import SessionSettings

Load = Callable[..., Loaded]


def policy_of(load: Load, session: SessionSettings | None = None, **levels: Any) -> ToolPolicy:
    """The policy of tool `t` of server `s`, with what each level states."""
    upstream = {"prefix": "s", "command": "x", **levels.get("upstream", {})}
    if "tool" in levels:
        upstream["tool_overrides"] = {"t": levels["tool"]}
    loaded = load({"upstream_servers": {"s": upstream}, **levels.get("root", {})})
    assert [p for p in loaded.problems if p.level == "error"] == []
    return tool_policy(loaded.settings, "s", "t", session or SessionSettings())


def test_defaults_are_the_documented_ones(load: Load) -> None:
    assert policy_of(load) == ToolPolicy()
    assert tool_policy(load().settings, "nobody", "nothing") == ToolPolicy()


def test_the_narrowest_level_that_states_a_key_wins(load: Load) -> None:
    root = {"default_compression": "truncate", "default_max_result_chars": 1000}
    assert policy_of(load, root=root).strategy == "truncate"
    assert policy_of(load, root=root, upstream={"compression": "hybrid"}).strategy == "hybrid"
    both = policy_of(
        load, root=root, upstream={"compression": "hybrid", "max_result_chars": 2000}, tool={"compression": "none"}
    )
    assert (both.strategy, both.max_chars) == ("none", 2000)


def test_an_explicit_auto_blocks_the_global_strategy(load: Load) -> None:
    assert policy_of(load, root={"default_compression": "none"}, upstream={"compression": "auto"}).strategy == "auto"


@pytest.mark.parametrize(
    ("root", "upstream", "chars", "tokens"),
    [
        ({}, {}, 16_000, 4_000),
        ({"consumer_model": "gpt-4-32k"}, {}, 5_600, 1_600),
        ({"consumer_model": "gemini-2.5-pro"}, {}, 48_000, 12_000),
        ({"default_max_result_chars": 3_000}, {}, 3_000, 4_000),
        ({"default_max_result_chars": 100_000}, {}, 100_000, 25_000),
        ({"default_max_result_tokens": 10_000}, {}, 40_000, 10_000),
        ({"default_max_result_tokens": 100}, {}, 16_000, 100),
        ({"default_max_result_chars": 3_000, "default_max_result_tokens": 100}, {}, 3_000, 100),
        ({"default_max_result_chars": 3_000}, {"max_result_tokens": 9_000}, 3_000, 9_000),
        ({"consumer_model": "gemini-2", "default_max_result_chars": 16_000}, {}, 16_000, 12_000),
    ],
)
def test_ceilings(load: Load, root: dict[str, Any], upstream: dict[str, Any], chars: int, tokens: int) -> None:
    found = policy_of(load, root=root, upstream=upstream)
    assert (found.max_chars, found.max_tokens) == (chars, tokens)


def test_a_session_stands_for_the_global_level_only(load: Load) -> None:
    session = SessionSettings(max_result_chars=500, consumer_model="gemini-2")
    assert policy_of(load, session, root={"default_max_result_chars": 900}).max_chars == 500
    assert policy_of(load, session, upstream={"max_result_chars": 900}).max_chars == 900
    assert policy_of(load, session).max_tokens == 12_000


@pytest.mark.parametrize(
    ("cache", "upstream", "tool", "expected"),
    [
        ({}, {}, {}, (None, 3600)),
        ({}, {"cache": True}, {}, (True, 3600)),
        ({}, {"cache": True}, {"cache": False}, (False, 3600)),
        ({}, {"cache_ttl_seconds": 10}, {"cache": True}, (True, 10)),
        ({}, {"cache_ttl_seconds": 10}, {"cache_ttl_seconds": 0, "cache": True}, (False, 0)),
        ({"default_ttl_seconds": None}, {}, {}, (None, None)),
        ({"default_ttl_seconds": 0}, {"cache": True}, {}, (False, 0)),
        ({"enabled": False}, {"cache": True}, {}, (False, 3600)),
    ],
)
def test_cache(
    load: Load, cache: dict[str, Any], upstream: dict[str, Any], tool: dict[str, Any], expected: tuple[Any, Any]
) -> None:
    found = policy_of(load, root={"cache": cache}, upstream=upstream, tool=tool)
    assert (found.cache, found.cache_ttl_seconds) == expected


def test_surfacing_skip_names_the_first_reason(load: Load) -> None:
    assert policy_of(load).surfacing_enabled
    off = {"surfacing": {"enabled": False}}
    assert policy_of(load, root=off).surfacing_skip == "disabled"
    assert policy_of(load, root=off, upstream={"surfacing_enabled": False}).surfacing_skip == "upstream_disabled"
    assert policy_of(load, SessionSettings(surfacing_enabled=True), root=off).surfacing_skip == ""
    assert policy_of(load, SessionSettings(surfacing_enabled=False)).surfacing_skip == "disabled"


def test_blocks_structure_and_exposure(load: Load) -> None:
    found = policy_of(
        load,
        root={"max_description_chars": 3000, "host_description_cap": 2048, "min_result_retention": 0.5},
        upstream={"structured_content": "keep", "hybrid": {"head_chars": 7}, "strip_schema_descriptions": True},
        tool={"hidden": True, "cleaning": {"strip_html": False}, "retention_floor": 0, "description_override": "d"},
    )
    assert found.keep_structured
    assert found.hybrid.head_chars == 7
    assert not found.cleaning.strip_html
    assert found.hidden
    assert found.description_override == "d"
    assert found.max_description_chars == 2048
    assert found.strip_schema_descriptions
    assert found.retention_floor == 0


def test_injection_follows_session_then_configuration_then_model(load: Load) -> None:
    assert injection_policy(load().settings) == InjectionPolicy()
    by_model = load({"consumer_model": "gpt-4-32k"}).settings
    assert injection_policy(by_model) == InjectionPolicy(max_chars=1500, max_results=2)
    configured = load({"consumer_model": "gpt-4-32k", "surfacing": {"max_results": 3}}).settings
    assert injection_policy(configured) == InjectionPolicy(max_chars=1500, max_results=3)
    session = SessionSettings(injection_mode="section", consumer_model="gemini-2", max_results=1)
    assert injection_policy(configured, session) == InjectionPolicy(mode="section", max_chars=6000, max_results=1)


def test_a_session_reads_its_own_scope_only() -> None:
    session = SessionSettings.from_environment(
        {
            "MEMTOMEM_STM_ADVERTISE_OBSERVABILITY_TOOLS": "true",
            "MEMTOMEM_STM_FORMATION__ENABLED": "1",
            "MEMTOMEM_STM_PROXY__CONSUMER_MODEL": "gpt-4o",
            "MEMTOMEM_STM_PROXY__DEFAULT_MAX_RESULT_CHARS": "99",
            "MEMTOMEM_STM_SURFACING__INJECTION_MODE": "prepend",
            "MEMTOMEM_STM_SURFACING__MAX_RESULTS": "lots",
            "MEMTOMEM_STM_PROXY__CACHE__ENABLED": "false",
            "MEMTOMEM_STM_SURFACING__MIN_SCORE": "junk",
        }
    )
    assert session.advertise_observability_tools is True
    assert session.formation_enabled is True
    assert (session.consumer_model, session.max_result_chars) == ("gpt-4o", 99)
    assert session.injection_mode == "prepend"
    assert session.max_results is None
    assert [problem.key for problem in session.problems] == ["surfacing.max_results"]
    assert SessionSettings.from_environment({}) == SessionSettings()


def test_advertised_flags(load: Load) -> None:
    settings = load({"formation": {"enabled": True}}).settings
    assert advertises_formation(settings)
    assert not advertises_formation(settings, SessionSettings(formation_enabled=False))
    assert not advertises_admin(settings)
    assert advertises_admin(settings, SessionSettings(advertise_observability_tools=True))


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-5-20250929", 200_000),
        ("anthropic/claude-opus-4.1", 200_000),
        ("us.anthropic.claude-haiku-4-5-v1:0", 200_000),
        ("GPT-4.1-mini", 1_048_576),
        ("gpt-4o-mini", 128_000),
        ("gpt-4-0613", 8_192),
        ("o1-mini", 128_000),
        ("models/gemini-2.5-flash", 1_048_576),
        ("something-new", None),
        ("", None),
    ],
)
def test_models_match_by_their_longest_prefix(model: str, window: int | None) -> None:
    assert context_window(model) == window


def test_budgets_by_window() -> None:
    assert budget_for("gpt-4-32k") == SMALL
    assert budget_for("claude-sonnet-4") == MEDIUM
    assert budget_for("unknown") == MEDIUM
    assert budget_for("gemini-2.0-flash") == LARGE
