"""The selection log: pairs, screening, rotation, and what it adds up to."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.telemetry.messages import ExecutionEvent, SelectionEvent
from actors.telemetry.selection_log import MARKS, SelectionLog, share_of
from actors.telemetry.selection_stats import summary
from bus.errors import Refused
from config.schema_proxy import SelectionTelemetrySettings

ON = SelectionTelemetrySettings(enabled=True)


def pair(selection_id: str = "s1", **keys: Any) -> list[bytes]:
    """The lines of one call, as a gateway sends them."""
    common = {"selection_id": selection_id, "server": "fs", "selected_tool": keys.pop("tool", "fs__read")}
    selection: dict[str, Any] = {
        "candidate_tools": ["fs__read", "fs__write"],
        "candidate_count": 2,
        "reject_reasons": {"fs__get_secret": "config_hidden"},
        "candidate_features": None,
        "args_sha256": "0" * 64,
        "args_chars": 2,
        "ranker_version": "v0-passthrough",
    }
    execution = {"ok": True, "latency_ms": 2.0} | keys
    events = [SelectionEvent(**common, **selection), ExecutionEvent(**common, **execution)]
    return [msgspec.json.encode(event) for event in events]


def log(tmp_path: Path, **settings: Any) -> SelectionLog:
    return SelectionLog(msgspec.structs.replace(ON, **settings), tmp_path / "state" / "selection_log.jsonl")


def label(log: SelectionLog, selection_id: str) -> None:
    log.label(selection_id, log.ranker_of(selection_id), user_corrected=True, operator_override=False)


def append(log: SelectionLog, lines: list[bytes]) -> int:
    """Screens and writes a batch; returns how many lines were no events."""
    screened = log.screen(lines)
    log.write(screened)
    return screened.rejected


def test_lines_are_recognised_sorted_private_and_written_once(tmp_path: Path) -> None:
    found = log(tmp_path)
    lines = pair()
    assert all(line.startswith(MARKS) for line in lines)
    assert append(found, [*lines, b'{"kind":"selection","torn', *lines]) == 1
    written = found.path.read_text().splitlines()
    assert len(written) == 2
    for line in written:
        keys = list(json.loads(line))
        assert keys == sorted(keys)
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(found.path.parent.stat().st_mode) == 0o700
    assert found.written == 2


def test_nothing_is_written_while_it_is_off(tmp_path: Path) -> None:
    found = log(tmp_path, enabled=False)
    append(found, pair())
    assert not found.path.exists()
    assert summary(found.path) is None


def test_sampling_keeps_or_drops_pairs_together(tmp_path: Path) -> None:
    found = log(tmp_path, sample_rate=0.5)
    ids = [f"call-{number}" for number in range(40)]
    for selection_id in ids:
        for line in pair(selection_id):
            append(found, [line])
    kept = [json.loads(line)["selection_id"] for line in found.path.read_text().splitlines()]
    expected = [i for i in ids if share_of(i) < 0.5]
    assert 0 < len(expected) < len(ids)
    assert kept == [i for i in expected for _ in range(2)]
    assert found.sampled_out == 2 * (len(ids) - len(expected))


def test_a_line_with_a_credential_is_dropped_and_counted(tmp_path: Path) -> None:
    found = log(tmp_path)
    append(found, pair(tool="use-ghp_" + "a1B2" * 10))
    assert not found.path.exists()
    assert (found.written, found.redacted) == (0, 2)


def test_a_large_batch_is_rotated_too_and_pairs_stay_together(tmp_path: Path) -> None:
    found = log(tmp_path, max_bytes=2_000, max_backups=100)
    append(found, [line for number in range(20) for line in pair(f"call-{number}")])
    files = [found.path, *found.backups]
    assert len(files) > 4
    assert max(path.stat().st_size for path in files) <= 2_000
    for path in files:
        ids = [json.loads(line)["selection_id"] for line in path.read_text().splitlines()]
        assert ids[::2] == ids[1::2]
    assert found.written == 40


def test_a_selection_in_a_rotated_log_can_be_labelled(tmp_path: Path) -> None:
    found = log(tmp_path, max_bytes=600, max_backups=3)
    for number in range(3):
        append(found, pair(f"call-{number}"))
    label(found, "call-0")
    assert '"kind":"feedback"' in found.path.read_text()


def test_rotation_keeps_the_newest_backups(tmp_path: Path) -> None:
    found = log(tmp_path, max_bytes=600, max_backups=2)
    for number in range(5):
        append(found, pair(f"call-{number}"))
    assert [path.name for path in found.backups] == ["selection_log.jsonl.1", "selection_log.jsonl.2"]
    assert "call-4" in found.path.read_text()
    assert "call-3" in found.backups[0].read_text()
    assert "call-2" in found.backups[1].read_text()
    sums = summary(found.path)
    assert sums is not None
    assert sums["events"] == 2


def test_without_backups_the_log_begins_anew(tmp_path: Path) -> None:
    found = log(tmp_path, max_bytes=600, max_backups=0)
    for number in range(3):
        append(found, pair(f"call-{number}"))
    assert found.backups == []
    assert "call-2" in found.path.read_text()
    assert "call-1" not in found.path.read_text()


def test_a_disk_that_fails_is_counted_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    found = log(tmp_path)
    append(found, pair())
    assert (found.written, found.write_errors) == (0, 2)


def test_a_torn_line_is_closed_and_skipped(tmp_path: Path) -> None:
    found = log(tmp_path)
    append(found, pair("one"))
    with found.path.open("ab") as file:
        file.write(b'\n{"kind":"exec')
    sums = summary(found.path)
    assert sums is not None
    assert (sums["events"], sums["unreadable"]) == (2, 0)
    append(found, pair("two"))
    sums = summary(found.path)
    assert sums is not None
    assert (sums["events"], sums["unreadable"]) == (4, 1)


def test_a_label_belongs_to_a_selection_of_the_log(tmp_path: Path) -> None:
    found = log(tmp_path)
    with pytest.raises(Refused, match="no selection 'one'"):
        label(found, "one")
    append(found, pair("one"))
    label(found, "one")
    last = json.loads(found.path.read_text().splitlines()[-1])
    assert last["kind"] == "feedback"
    assert (last["selection_id"], last["ranker_version"]) == ("one", "v0-passthrough")
    assert (last["user_corrected"], last["operator_override"]) == (True, False)
    sums = summary(found.path)
    assert sums is not None
    assert (sums["feedback"], sums["unreadable"]) == (1, 0)
    found.settings = SelectionTelemetrySettings()
    with pytest.raises(Refused, match="off"):
        label(found, "one")


def test_sums(tmp_path: Path) -> None:
    found = log(tmp_path)
    append(found, pair("one", latency_ms=1.0) + pair("two", latency_ms=3.0, ok=False, error_type="UpstreamTimeout"))
    append(found, pair("three", tool="fs__write", latency_ms=2.0))
    assert summary(found.path) == {
        "events": 6,
        "selections": 3,
        "executions": 3,
        "feedback": 0,
        "unreadable": 0,
        "by_ranker": {"v0-passthrough": 3},
        "by_tool": {"fs/fs__read": 2, "fs/fs__write": 1},
        "reject_reasons": {"config_hidden": 3},
        "ok": 2,
        "failed": 1,
        "errors": {"UpstreamTimeout": 1},
        "latency_ms": {"p50": 2.0, "p95": 3.0, "p99": 3.0},
    }
