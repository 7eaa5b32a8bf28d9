"""What is known about one tool, put together from feedback, follow-up reads and the configuration. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from actors.tuner.recommend import FollowUps, Observed
from actors.tuner.store import Tool
from actors.tuner.thresholds import Tally
from config.policy import ToolPolicy, tool_policy
from config.schema import Settings

CONTEXT_TOOLS = ("surfacing", "context_tools")


def observe(
    tool: Tool,
    settings: Settings,
    *,
    ratings: Tally | None,
    tuned: float | None,
    reports: Mapping[str, int] | None,
    follow_ups: FollowUps | None,
) -> Observed:
    """One tool as `recommend` looks at it.

    Args:
        ratings: those that no threshold has answered to yet.
        tuned: its tuned threshold, if it has one.
    """
    name, pinned = _entry(tool, settings), pin(tool, settings)
    is_upstream = tool.server in settings.proxy.upstream_servers
    entry = (*CONTEXT_TOOLS, name or tool.key)
    unpinned = settings.surfacing.min_score if tuned is None else tuned
    return Observed(
        tool=tool,
        ratings=ratings or Tally(0, 0, 0),
        threshold=unpinned if pinned is None else pinned,
        pin=() if pinned is None else (*entry, "min_score"),
        entry=entry,
        reports=reports or {},
        follow_ups=follow_ups,
        policy=tool_policy(settings, tool.server, tool.tool) if is_upstream else ToolPolicy(),
        budget=("upstream_servers", tool.server, "tool_overrides", tool.tool) if is_upstream else (),
    )


def pin(tool: Tool, settings: Settings) -> float | None:
    """The threshold that the configuration pins for a tool."""
    name = _entry(tool, settings)
    return settings.surfacing.context_tools[name].min_score if name else None


def follow_ups(rows: Iterable[Mapping[str, Any]], servers: Collection[str]) -> dict[Tool, FollowUps]:
    """Telemetry's rows per tool (`progressive` report), for the tools of these servers."""
    found = {}
    for row in rows:
        tool = _named(row["tool"], servers)
        if tool is not None:
            found[tool] = FollowUps(
                responses=row["responses"],
                rate=row["follow_up_rate"] or 0.0,
                served_chars=row["mean_served_chars"] or 0.0,
                total_chars=row["mean_total_chars"] or 0.0,
            )
    return found


def _entry(tool: Tool, settings: Settings) -> str:
    """The name that the tool has in `context_tools`, looked for as the surfacer does; empty when it has none."""
    upstream = settings.proxy.upstream_servers.get(tool.server)
    advertised = f"{upstream.prefix}__{tool.tool}" if upstream is not None and upstream.prefix else tool.tool
    names = (tool.key, advertised, tool.tool)
    return next((name for name in names if name in settings.surfacing.context_tools), "")


def _named(key: str, servers: Collection[str]) -> Tool | None:
    """The tool of a key `server__tool`: only the list of servers tells where the name of one ends."""
    server = max((name for name in servers if key.startswith(f"{name}__")), key=len, default=None)
    return None if server is None else Tool(server, key.removeprefix(f"{server}__"))
