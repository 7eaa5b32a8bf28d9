"""`mms cache clear` and `mms cache stats`: the response cache of the upstream pool."""

from __future__ import annotations

import click

from actors.upstream.messages import CacheStats, ClearCache, GetCacheStats
from cli.asking import ASK_SECONDS, START_SECONDS, must_run, on_bus
from cli.context import current_place
from cli.output import Answer, answers, count, printable, table
from cli.tool_names import HELP, split
from config.load import load_settings


@click.group()
def cache() -> None:
    """The response cache.

    Answers of tools that declare `readOnlyHint: true`, or that are set to `cache: true`, are kept for
    `cache.default_ttl_seconds` and given to everybody who asks the same. Errors, writers and whatever looks like a
    credential never are; a call of a tool that declares that it writes drops what is kept of its server.

    \b
    Example:
      mms cache clear --server fs
    """


@cache.command()
@click.option("--server", default="", help="Only answers of this server.")
@click.option("--tool", default="", help=f"Only answers of this tool ({HELP}).")
@answers
def clear(server: str, tool: str) -> Answer:
    """Forget cached answers, in memory and on disk.

    \b
    Example:
      mms cache clear --server fs --tool read_file
    """
    place = current_place()
    must_run(place)
    named, own = split(load_settings(place).settings.proxy.upstream_servers, tool)
    request = ClearCache(server=server or named, tool=own if server in ("", named) else tool)
    cleared = on_bus(place, lambda bus: bus.ask(request, timeout=START_SECONDS + ASK_SECONDS, wait=START_SECONDS))
    return Answer(data={"cleared": cleared.entries}, talk=f"{count(cleared.entries, 'cached answer')} forgotten.")


@cache.command()
@answers
def stats() -> Answer:
    """What the cache holds, and what it has saved.

    Counts since the upstream actor started; `mms stats` knows earlier calls.

    \b
    Example:
      mms cache stats
    """
    place = current_place()
    must_run(place)
    found = on_bus(place, lambda bus: bus.ask(GetCacheStats(), timeout=START_SECONDS + ASK_SECONDS, wait=START_SECONDS))
    tools = [{"server": server, "tool": tool, "entries": count} for server, tool, count in found.by_tool]
    asked = found.hits + found.misses
    return Answer(
        data={
            "entries": found.entries,
            "bytes": found.bytes,
            "in_memory": found.in_memory,
            "hits": found.hits,
            "misses": found.misses,
            "shared": found.shared,
            "hit_ratio": round(found.hits / asked, 4) if asked else None,
            "sensitive": found.sensitive,
            "by_tool": tools,
            "error": found.error,
            "set_aside": found.set_aside,
        },
        text=_page(found, asked),
        talk=_news(found),
    )


def _page(found: CacheStats, asked: int) -> str:
    share = f" ({found.hits / asked:.0%})" if asked else ""
    rows = [
        ("kept", f"{count(found.entries, 'answer')}, {found.bytes:,} bytes ({found.in_memory:,} in memory)"),
        ("hits", f"{found.hits:,} of {count(asked, 'call')} that can be cached{share}"),
        ("shared", f"{count(found.shared, 'call')} waited for an identical one"),
        ("not kept", f"{count(found.sensitive, 'answer')} that looked like a credential"),
    ]
    parts = [table(("WHAT", "VALUE"), rows)]
    if found.by_tool:
        parts.append(table(("SERVER", "TOOL", "ANSWERS"), found.by_tool))
    return "\n\n".join(parts)


def _news(found: CacheStats) -> str:
    lines = [f"nothing is kept on disk: {found.error}"] if found.error else []
    if found.set_aside:
        lines.append(f"a corrupt file was moved to {found.set_aside}")
    return printable("; ".join(lines))
