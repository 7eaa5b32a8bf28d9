"""What `stm_admin` says: reports as short lines that a model and a person can read. Pure.

Names come from other people's servers: control characters in them are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from actors.compressor.messages import RecallStats
from actors.surfacer.messages import SurfacerHealth
from actors.telemetry.messages import SelectionStats, TelemetryHealth
from actors.tuner.messages import Recommendations
from actors.upstream.messages import CacheStats, Catalogue
from config.problems import Problem, printable
from gateway.admin_upstreams import upstreams

MIN_ATTEMPTS = 10
FAULTY, DEGRADED = 0.75, 0.25
STORE_ERRORS = {"held": "StoreHeld", "newer": "NewerState", "failed": "StateError"}

Row = Mapping[str, Any]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What the parts say of themselves; `None` = no answer."""

    catalogue: Catalogue | None
    surfacer: SurfacerHealth | None
    telemetry: TelemetryHealth | None
    recall: RecallStats | None
    cache: CacheStats | None


def savings(report: Row, hints: int | None, pending: int) -> str:
    """Args: hints: warnings of the LTM's last answer, `None` when the surfacer does not answer."""
    answered = report["live"] + report["cached"]
    lines = [
        f"Calls: {report['calls']:,} ({report['live']:,} live, {report['cached']:,} cached, "
        f"{report['failed']:,} failed)",
        f"Cache hits: {report['cached']:,} of {answered:,} answered calls{_share(report['cached'], answered)}",
        f"Characters: {report['original_chars']:,} → {report['delivered_chars']:,} ({report['saved_chars']:,} saved)",
        f"Tokens (estimated): {report['original_tokens']:,} → {report['delivered_tokens']:,} "
        f"({report['saved_tokens']:,} saved{_ratio(report['saved_ratio'], ', ')})"
        + (f"; memories are {report['memory_tokens']:,} of the delivered" if report["memory_tokens"] else ""),
    ]
    if report["latency_ms"]:
        lines.append(f"Latency: {_quantiles(report['latency_ms'])}; our share of it: {_quantiles(report['own_ms'])}")
    if report["errors"]:
        lines.append(f"Failures: {_counts(report['errors'])}")
    if hints is not None:
        lines.append(f"Search hints from the LTM: last: {hints} hint(s)")
    lines += _section(f"By tool ({report['groups_total']})", map(_group, report["groups"]))
    lines += _section("Latest calls", map(_recent_call, report["recent"]))
    return "\n".join(lines + _pending(pending))


def surfacing(report: Row, surfacer: SurfacerHealth | None, pending: int) -> str:
    lines = [
        f"events_total: {report['events_total']:,}",
        f"distinct_tools: {report['distinct_tools']:,}",
        f"total_feedback: {report['total_feedback']:,}",
        f"Memories shown: {report['memories_shown']:,} in {report['injected_chars']:,} characters",
        f"Ratings: {_counts(report['ratings'])}",
        f"Helpful ratio: {_percent(report['helpful_ratio'])}",
        f"Verdict: {verdict(surfacer)}",
    ]
    if report["withheld"]:
        lines.append(f"Withheld: {report['withheld']:,} events held out, not in the totals")
    opportunities = report["opportunities"]
    sampled_out = surfacer.sampled_out if surfacer is not None else 0
    if opportunities["total"] or sampled_out:
        lines.append(f"Opportunities: {opportunities['total']:,} stored, {sampled_out:,} sampled out since start")
        if opportunities["by_decision"]:
            lines.append(f"  by decision: {_counts(opportunities['by_decision'])}")
    calls = {decision: count for decision, count in report["calls_by_decision"].items() if decision}
    if calls:
        lines.append(f"All calls by decision: {_counts(calls)}")
    lines += _section("By tool", map(_surfaced_tool, report["tools"]))
    lines += _section("Recent", map(_surfaced_event, report["recent"]))
    return "\n".join(lines + _pending(pending))


def verdict(surfacer: SurfacerHealth | None) -> str:
    """How the searches have gone since the surfacer's start; cancelled ones say nothing and are left out."""
    if surfacer is None:
        return "unknown, the surfacer does not answer"
    attempts, faults = surfacer.attempts, surfacer.faults
    told = f"{faults:,} of {attempts:,} searches failed"
    if attempts < MIN_ATTEMPTS:
        return f"insufficient data ({told})"
    share = faults / attempts
    name = "FAULTY" if share >= FAULTY else "DEGRADED" if share >= DEGRADED else "HEALTHY"
    return f"{name} ({told})"


def selection(found: SelectionStats) -> str:
    """The selection log and what was written to it."""
    log: Row | None = msgspec.json.decode(found.log.data)
    state = "on" if found.enabled else "off (proxy.selection_telemetry.enabled)"
    lines = [f"Selection telemetry: {state}"]
    if log is not None:
        lines += [
            f"Active log: {log['events']:,} events ({log['selections']:,} selections, "
            f"{log['executions']:,} executions, {log['feedback']:,} labels, {log['unreadable']:,} unreadable)",
            f"Executions: {log['ok']:,} ok, {log['failed']:,} failed; latency {_quantiles(log['latency_ms'])}",
        ]
        for title, key in (
            ("By ranker version", "by_ranker"),
            ("By server and tool", "by_tool"),
            ("Failures", "errors"),
            ("Rejected", "reject_reasons"),
        ):
            if log[key]:
                lines.append(f"{title}: {_counts(log[key])}")
    if found.backups:
        lines.append(f"Rotated, not counted: {', '.join(map(printable, found.backups))}")
    lines.append(
        f"Since the telemetry actor's start: {found.written:,} written, {found.sampled_out:,} sampled out, "
        f"{found.redacted:,} redacted, {found.write_errors:,} write errors"
    )
    return "\n".join(lines)


def compression(report: Row, pending: int) -> str:
    lines = [f"Reports of lost information: {report['reports_total']:,}"]
    if report["by_category"]:
        lines.append(f"By kind: {_counts(report['by_category'])}")
    lines += _section(
        "By tool", (f"{printable(row['tool'])}: {row['reports']:,}, last {row['last_ts']}" for row in report["tools"])
    )
    recent = (
        f"{row['ts']} {printable(row['tool'])} ({printable(row['category'])}): {printable(row['missing'])}"
        for row in report["recent"]
    )
    return "\n".join(lines + _section("Recent", recent) + _pending(pending))


def progressive(report: Row, pending: int) -> str:
    lines = [
        f"Reads: {report['reads']:,}",
        f"Responses: {report['responses']:,} ({report['progressive']:,} served in slices)",
        f"Follow-up rate: {_percent(report['follow_up_rate'])}",
        f"Mean characters served: {_number(report['mean_served_chars'])}",
        f"Mean total characters: {_number(report['mean_total_chars'])}",
        f"Mean coverage: {_percent(report['mean_coverage'])}",
        f"Store failures (whole response passed through): {report['store_failures']:,}",
        f"Recorded initial payload chars: {report['initial_payload_chars'] or 0:,}",
        f"Recorded follow-up payload chars: {report['follow_up_payload_chars'] or 0:,}",
        f"Unclassified legacy read events: {report['unclassified_legacy_reads']:,}",
    ]
    tools = (
        f"{printable(row['tool'])}: {row['responses']:,} responses, follow-up rate {_percent(row['follow_up_rate'])}, "
        f"{_number(row['mean_served_chars'])} characters served (repeats included), "
        f"coverage {_percent(row['mean_coverage'])} of {_number(row['mean_total_chars'])}"
        for row in report["tools"]
    )
    return "\n".join(lines + _section("By tool", tools) + _pending(pending))


def recommendations(found: Recommendations, hours: float) -> str:
    period = f"the last {hours:g} hours"
    lines = []
    if found.items:
        lines.append(f"Recommendations from {period}; `mms tune --apply` carries them out:")
        for item in found.items:
            lines.append(f"  {printable(f'{item.server}__{item.tool}')}: {item.what}")
            lines.append(f"    why: {printable(item.why)}")
            lines += [
                f"    set {printable('.'.join(change.path))} = {msgspec.json.encode(change.value).decode()}"
                for change in item.changes
            ]
    else:
        lines.append(f"No recommendations from {period}: nothing to gain ({found.considered} tools looked at).")
    if found.without_follow_ups:
        lines.append("Telemetry does not answer, so follow-up reads were not looked at.")
    return "\n".join(lines)


def cleared(entries: int, server: str, tool: str) -> str:
    what = f"{entries} cached response{'' if entries == 1 else 's'}"
    if server or tool:
        scope = " ".join(f"{kind} {printable(name)}" for kind, name in (("server", server), ("tool", tool)) if name)
        return f"Cleared {what} of {scope}. The memory search results stay: they belong to no server or tool."
    return f"Cleared {what} and the memory search results."


def health(parts: Health, problems: Sequence[Problem]) -> str:
    """The state of everything that serves a call, as far as it concerns an operator."""
    lines: list[str] = []
    if parts.catalogue is None:
        lines.append("Upstreams: the upstream actor does not answer; `mms ps` shows the actors")
    else:
        lines += upstreams(parts.catalogue)
    lines += ["", *_memory(parts.surfacer), *_stores(parts)]
    told = [problem for problem in problems if problem.level != "note"]
    lines += _section("Configuration problems", (f"{p.level}: {printable(p.message)}" for p in told))
    return "\n".join(lines)


def _memory(surfacer: SurfacerHealth | None) -> list[str]:
    if surfacer is None:
        return ["Surfacing: the surfacer does not answer; responses come without memories"]
    about = ", ".join(part for part in (surfacer.ltm_kind, surfacer.ltm_version, surfacer.mode) if part)
    ltm = f"LTM {surfacer.ltm}" + (f" ({printable(about)})" if about else "")
    if surfacer.ltm == "down":
        ltm += ", `mms health` says why"
    return [
        f"Surfacing: {ltm}; circuit breaker {surfacer.breaker}; "
        f"{surfacer.faults} of {surfacer.attempts} searches failed"
    ]


def _stores(parts: Health) -> list[str]:
    lines = []
    if parts.recall is not None:
        aside = "; a damaged one was set aside (DatabaseError)" if parts.recall.set_aside else ""
        lines.append(f"Recall store: {parts.recall.entries} originals, {parts.recall.bytes:,} bytes{aside}")
    else:
        lines.append("Recall store: the compressor does not answer; responses are cut plainly")
    if parts.cache is not None:
        cache = parts.cache
        broken = "; memory only (DatabaseError)" if cache.error else ""
        aside = "; a damaged one was set aside (DatabaseError)" if cache.set_aside else ""
        lines.append(
            f"Response cache: {cache.entries} responses, {cache.bytes:,} bytes, {cache.hits} hits, "
            f"{cache.misses} misses since start{broken}{aside}"
        )
    if parts.telemetry is not None:
        state = parts.telemetry.store
        error = f" ({STORE_ERRORS[state]})" if state in STORE_ERRORS else ""
        lines.append(f"Analytics store: {state}{error}, {parts.telemetry.pending} events pending")
    else:
        lines.append("Analytics store: telemetry does not answer; events wait")
    return lines


def _group(row: Row) -> str:
    return (
        f"{printable(row['key'])}: {row['calls']:,} calls ({row['cached']:,} cached, {row['failed']:,} failed), "
        f"tokens {row['original_tokens']:,} → {row['delivered_tokens']:,}{_ratio(row['saved_ratio'], ', saved ')}, "
        f"{_quantiles(row['latency_ms'])}"
    )


def _recent_call(row: Row) -> str:
    outcome = ("cached" if row["cached"] else "ok") if row["ok"] else f"failed: {row['error']}"
    return (
        f"{row['ts']} {printable(row['tool'])} {outcome}, {row['strategy']}, "
        f"{row['original_chars']:,} → {row['delivered_chars']:,} characters, {row['total_ms']:,.1f} ms"
    )


def _surfaced_tool(row: Row) -> str:
    return (
        f"{printable(row['tool'])}: {row['events']:,} events, {row['memories']:,} memories, "
        f"{row['feedback']:,} ratings, helpful {_percent(row['helpful_ratio'])}"
    )


def _surfaced_event(row: Row) -> str:
    memories = ", ".join(f"{printable(memory)} {row['ratings'].get(memory, 'unrated')}" for memory in row["memory_ids"])
    return f"{row['ts']} {row['surfacing_id']} {printable(row['tool'])}: {memories}"


def _section(title: str, rows: Iterable[str]) -> list[str]:
    found = [f"  {row}" for row in rows]
    return ["", f"{title}:", *found] if found else []


def _pending(pending: int) -> list[str]:
    return ["", f"{pending:,} events are recorded and not counted yet."] if pending else []


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{printable(name)} {count:,}" for name, count in counts.items()) or "none"


def _quantiles(milliseconds: Mapping[str, float] | None) -> str:
    return ", ".join(f"{name} {value:,.1f} ms" for name, value in (milliseconds or {}).items()) or "-"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.0%}"


def _ratio(ratio: float | None, lead: str) -> str:
    return "" if ratio is None else f"{lead}{ratio:.0%}"


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.0%})" if whole else ""


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
