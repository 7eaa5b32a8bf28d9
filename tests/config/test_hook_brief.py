"""What a hook reads instead of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.hook_brief import BUDGET_SECONDS, HOST_CONTEXT_CHARS, brief_of, dump, parse
from config.load import interpret


def test_a_brief_comes_back_as_it_was_written() -> None:
    document = {"hook": {"surface_tools": ["Read", "mcp__*"], "compression": {"enabled": True, "max_chars": 9000}}}
    brief = brief_of(interpret(document, {}, Path("stm_proxy.json")).settings)
    assert (brief.tools, brief.compress, brief.max_chars) == (("Read", "mcp__*"), True, 9000)
    assert parse(dump(brief)) == brief


def test_without_settings_the_budget_is_what_a_hook_has_before_it_knows_any() -> None:
    assert brief_of(interpret({}, {}, Path("stm_proxy.json")).settings).budget_seconds == BUDGET_SECONDS


def test_a_block_is_no_longer_than_hosts_take() -> None:
    document = {"surfacing": {"max_injection_chars": HOST_CONTEXT_CHARS * 2}}
    assert brief_of(interpret(document, {}, Path("stm_proxy.json")).settings).max_injection_chars == HOST_CONTEXT_CHARS


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"tools": 5}', '{"tools": [], "of_another_version": 1}'])
def test_what_another_version_has_written_is_none(text: str) -> None:
    assert parse(text) is None
