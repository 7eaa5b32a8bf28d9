"""Why a call got no memories: what each decision means, and what changes it."""

from __future__ import annotations

MEANINGS: dict[str, str] = {
    "surfaced": "memories were shown",
    "": "the call failed before memories were looked for",
    "upstream_disabled": "off for this server; `mms surfacing SERVER on`",
    "disabled": "off altogether; surfacing.enabled",
    "gate_excluded_tool": "the tool is in surfacing.exclude_tools",
    "gate_tool_disabled": "off for this tool; surfacing.context_tools",
    "gate_write_tool": "tools that write get none; surfacing.write_tool_patterns adds to what counts as one",
    "response_too_short": "under surfacing.min_response_chars; `_context_query` in a call lifts this",
    "no_query": "the arguments hold nothing to search for; `_context_query`, or context_tools.TOOL.query_template",
    "sensitive_query": "the query looks like a credential and is never searched for",
    "gate_cooldown": "nearly the same query came within surfacing.cooldown_seconds",
    "gate_rate_limit": "over surfacing.max_surfacings_per_minute of this client",
    "circuit_open": "the LTM failed repeatedly and rests; `mms health` says why",
    "ltm_unavailable": "the LTM, or the surfacer, was not there; `mms health`",
    "upstream_error": "errors get no memories",
    "timeout": "the memories were not found in time; surfacing.search_wait_seconds, or `_context_query` in a call",
    "no_results_score": "nothing was relevant enough; surfacing.min_score, or add notes: `mms memory add`",
    "no_results_dedup": "all that fits was shown before; surfacing.dedup_ttl_seconds",
    "no_results_demoted": "all that fits was rated down; surfacing.feedback_demotion_negative_threshold",
    "no_results_invalidated": "all that fits was rated not relevant just now",
    "empty_render": "what was found could not be shown: too long for max_injection_chars, or it addresses the agent",
    "withheld": "held out by the experiment; surfacing.holdout_rate",
    "cancelled": "the client took the call back",
    "progressive_mode_conflict": "injection_mode prepend and a response in slices exclude each other",
}


def meaning(decision: str) -> str:
    """One phrase; empty for a decision of another version."""
    return MEANINGS.get(decision, "")
