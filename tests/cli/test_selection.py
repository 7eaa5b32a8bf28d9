"""`mms selection`: what it makes of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.telemetry.messages import ExecutionEvent, SelectionEvent, SelectionLabel
from cli.selection import selection
from cli.selection_replay import Quality, replay
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
    found = replay([LOG]).rankers
    ranked = found["v1-bm25-tool-relevance"]
    assert (ranked.selections, ranked.ranked, ranked.first, ranked.top) == (3, 3, 1, 2)
    assert ranked.reciprocal == pytest.approx(1.5)
    assert (ranked.ok, ranked.executions, ranked.labelled, ranked.corrected) == (2, 3, 1, 1)
    assert (found["v0-passthrough"].selections, found["v0-passthrough"].ranked) == (1, 0)


def test_pairs_and_labels_are_joined_over_all_logs_whatever_their_order() -> None:
    halves = [line for one in ("a", "b", "c") for line in lines(one, {"read": 1.0}, corrected=True)]
    found = replay([halves[1::2], halves[::2]])
    (cohort,) = found.rankers.values()
    assert (cohort.selections, cohort.executions, cohort.ok, cohort.corrected) == (3, 3, 3, 3)
    assert found.quality == Quality(lines=9)


def test_the_last_label_of_a_selection_counts() -> None:
    wrong = lines("a", None, corrected=True)
    right = SelectionLabel(
        selection_id="a", user_corrected=False, operator_override=False, ranker_version="v0-passthrough"
    )
    (cohort,) = replay([[*wrong, msgspec.json.encode(right)]]).rankers.values()
    assert (cohort.labelled, cohort.corrected) == (1, 0)


def test_what_is_wrong_with_a_log_is_counted() -> None:
    selection_a, execution_a = lines("a", {"read": 1.0})
    selection_b, _ = lines("b", {"read": 1.0})
    _, execution_c = lines("c", None)
    *_, label_d = lines("d", None, corrected=True)
    *_, label_of_other_ranker = lines("a", None, corrected=True)
    elsewhere = selection_b.replace(b'"selected_tool":"read"', b'"selected_tool":"gone"')
    log = [selection_a, execution_a, execution_a, elsewhere, execution_c, label_d, label_of_other_ranker]
    odd = [b"\n", b"nonsense\n", b'{"kind":"selec']
    assert replay([log, odd]).quality == Quality(
        lines=9,
        unreadable=1,
        torn=1,
        repeated=1,
        without_execution=1,
        without_selection=1,
        labels_without_selection=1,
        not_advertised=1,
        contradictory=1,
    )


def test_replay_reads_all_logs_without_a_cluster(place: Place, mms: Invoke, tmp_path: Path) -> None:
    missing = mms([selection], "selection", "replay", "--json")
    assert (missing.exit_code, document_of(missing)["error"]) == (1, "no_data")
    active = place.state / "selection_log.jsonl"
    active.write_bytes(b"".join(LOG))
    shown = mms([selection], "selection", "replay")
    last = shown.stdout.splitlines()[-1]
    assert last.split() == ["v1-bm25-tool-relevance", "3", "3", "33%", "67%", "0.50", "67%", "1", "1"]
    assert shown.stderr.splitlines() == ["10 lines in 1 log", "1 cut off by a crash"]
    active.with_name("selection_log.jsonl.2").write_bytes(b"".join(lines("e", None)))
    active.with_name("selection_log.jsonl.10").write_bytes(b"".join(lines("f", None)))
    both = document_of(mms([selection], "selection", "replay", "--json"))
    assert [Path(log).name[19:] for log in both["logs"]] == [".10", ".2", ""]
    assert both["rankers"]["v0-passthrough"]["selections"] == 3
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"".join(lines("d", None)))
    alone = document_of(mms([selection], "selection", "replay", "--log", str(other), "--json"))
    assert (list(alone["rankers"]), alone["quality"]["lines"]) == (["v0-passthrough"], 2)
    gone = mms([selection], "selection", "replay", "--log", str(tmp_path / "none"), "--json")
    assert (gone.exit_code, document_of(gone)["error"]) == (1, "no_data")


def test_a_label_needs_a_cluster(place: Place, mms: Invoke) -> None:
    refused = mms([selection], "selection", "feedback", "abc", "--json")
    assert (refused.exit_code, document_of(refused)["error"]) == (1, "not_running")


def test_without_a_log_it_says_what_makes_one(mms: Invoke, place: Place) -> None:
    assert "set selection_telemetry.enabled to true" in mms([selection], "selection", "replay").stderr
    place.config_file.write_text('{"selection_telemetry": {"enabled": true}}')
    assert "the first call of an MCP client makes it" in mms([selection], "selection", "replay").stderr
