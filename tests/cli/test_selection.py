"""`mms selection`: what it makes of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.telemetry.messages import ExecutionEvent, SelectionEvent, SelectionLabel
from cli.selection import evaluate, selection
from config.place import Place
from tests.cli.conftest import Invoke, document_of


def lines(
    selection_id: str, ranks: dict[str, float] | None, *, ok: bool = True, corrected: bool = False
) -> list[bytes]:
    common: dict[str, Any] = {"selection_id": selection_id, "server": "fs", "selected_tool": "read"}
    features = None if ranks is None else {name: {"rank": rank} for name, rank in ranks.items()}
    ranker = "v0-passthrough" if features is None else "v1-bm25-tool-relevance"
    chosen = SelectionEvent(
        **common,
        candidate_tools=["read", "write"],
        candidate_count=2,
        reject_reasons={},
        candidate_features=features,
        args_sha256="0" * 64,
        args_chars=2,
        ranker_version=ranker,
    )
    events: list[Any] = [chosen, ExecutionEvent(**common, ok=ok, latency_ms=1.0)]
    if corrected:
        events.append(
            SelectionLabel(
                selection_id=selection_id, user_corrected=True, operator_override=True, ranker_version=ranker
            )
        )
    return [msgspec.json.encode(event, order="sorted") + b"\n" for event in events]


LOG = [
    *lines("a", {"read": 1.0, "write": 2.0}),
    *lines("b", {"write": 1.0, "read": 2.0}, corrected=True),
    *lines("c", {"write": 1.0}, ok=False),
    *lines("d", None),
    b"\n",
    b'{"kind":"selec',
]


def test_rankings_are_compared_with_what_was_called() -> None:
    found = evaluate(LOG)
    ranked = found["v1-bm25-tool-relevance"]
    assert (ranked.selections, ranked.ranked, ranked.first, ranked.top) == (3, 3, 1, 2)
    assert ranked.reciprocal == pytest.approx(1.5)
    assert (ranked.ok, ranked.executions, ranked.corrected) == (2, 3, 1)
    assert (found["v0-passthrough"].selections, found["v0-passthrough"].ranked) == (1, 0)


def test_replay_reads_the_log_without_a_cluster(place: Place, mms: Invoke, tmp_path: Path) -> None:
    missing = mms([selection], "selection", "replay", "--json")
    assert (missing.exit_code, document_of(missing)["error"]) == (1, "no_data")
    (place.state / "selection_log.jsonl").write_bytes(b"".join(LOG))
    shown = mms([selection], "selection", "replay")
    last = shown.stdout.splitlines()[-1]
    assert last.split() == ["v1-bm25-tool-relevance", "3", "3", "33%", "67%", "0.50", "67%", "1"]
    rotated = tmp_path / "other.jsonl"
    rotated.write_bytes(b"".join(lines("d", None)))
    other = document_of(mms([selection], "selection", "replay", "--log", str(rotated), "--json"))
    assert list(other["rankers"]) == ["v0-passthrough"]


def test_a_label_needs_a_cluster(place: Place, mms: Invoke) -> None:
    refused = mms([selection], "selection", "feedback", "abc", "--json")
    assert (refused.exit_code, document_of(refused)["error"]) == (1, "not_running")
