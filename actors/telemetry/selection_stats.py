"""What a selection log says, added up. Reads the file line by line; blank lines and a torn last one are skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


class _Line(msgspec.Struct):
    """The members that are added up, of any kind of line."""

    kind: str
    server: str = ""
    selected_tool: str = ""
    ranker_version: str = ""
    reject_reasons: dict[str, str] | None = None
    ok: bool = False
    latency_ms: float = 0.0
    error_type: str = ""


_decoder = msgspec.json.Decoder(_Line)


def summary(path: Path) -> dict[str, Any] | None:
    """Sums over one log; `None` when there is none.

    `events`, `selections`, `executions`, `feedback` (operator labels), `unreadable` (whole lines that are no events);
    `by_ranker`, `by_tool` (`server/tool`), `reject_reasons` (code → selections' candidates rejected): counts, most
    first; `ok`, `failed`, `errors` (type → executions), `latency_ms`: `{p50, p95, p99}` of executions, or null.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return _added_up(file)
    except FileNotFoundError:
        return None


def _added_up(lines: Iterable[bytes]) -> dict[str, Any]:
    kinds: Counter[str] = Counter()
    rankers: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    latencies: list[float] = []
    unreadable = failed = 0
    for raw in lines:
        if not raw.strip():
            continue
        try:
            line = _decoder.decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            unreadable += raw.endswith(b"\n")
            continue
        kinds[line.kind] += 1
        if line.kind == "selection":
            rankers[line.ranker_version] += 1
            tools[f"{line.server}/{line.selected_tool}"] += 1
            rejected.update((line.reject_reasons or {}).values())
        elif line.kind == "execution":
            latencies.append(line.latency_ms)
            if not line.ok:
                failed += 1
                errors[line.error_type] += 1
    return {
        "events": kinds.total(),
        "selections": kinds["selection"],
        "executions": kinds["execution"],
        "feedback": kinds["feedback"],
        "unreadable": unreadable,
        "by_ranker": dict(rankers.most_common()),
        "by_tool": dict(tools.most_common()),
        "reject_reasons": dict(rejected.most_common()),
        "ok": kinds["execution"] - failed,
        "failed": failed,
        "errors": dict(errors.most_common()),
        "latency_ms": _quantiles(latencies),
    }


def _quantiles(values: list[float]) -> dict[str, float] | None:
    """Nearest-rank quantiles."""
    if not values:
        return None
    values.sort()
    return {name: round(values[ceil(share * len(values)) - 1], 3) for name, share in QUANTILES.items()}
