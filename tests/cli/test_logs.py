"""`mms logs` over real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bus.launch import environment
from bus.log import Log
from cli.logs import Tail, logs
from config.place import Place
from tests.cli.conftest import Invoke
from tests.eventually import eventually_blocking


def write(place: Place, name: str, number: int, **fields: Any) -> None:
    line = {"ts": f"2026-11-30T10:00:{number:02}.000000Z", "level": "info", "event": f"event-{number}", **fields}
    with open(place.logs / f"{name}.log", "a") as file:
        file.write(json.dumps(line) + "\n")


def told(output: str) -> list[str]:
    """The names and events shown, in their order."""
    return [" ".join(line.split()[3:5]) for line in output.splitlines()]


def test_the_logs_are_put_together_by_time(place: Place, mms: Invoke) -> None:
    for number, name in enumerate(("upstream", "tuner", "upstream", "surfacer")):
        write(place, name, number)
    result = mms([logs], "logs")
    assert result.exit_code == 0
    assert told(result.stdout) == [
        "upstream: event-0", "tuner: event-1", "upstream: event-2", "surfacer: event-3",
    ]  # fmt: skip


def test_one_actor_and_its_last_lines(place: Place, mms: Invoke) -> None:
    for number in range(5):
        write(place, "tuner", number)
        write(place, "upstream", number)
    result = mms([logs], "logs", "tuner", "-n", "2")
    assert told(result.stdout) == ["tuner: event-3", "tuner: event-4"]
    assert mms([logs], "logs", "-n", "0").stdout == ""


def test_fields_levels_and_tracebacks_are_shown(place: Place, mms: Invoke) -> None:
    write(place, "tuner", 1, level="error", reason="two words", count=3, exception="Traceback:\n  at\x1b[31m line 1")
    result = mms([logs], "logs", "tuner")
    first, *trace = result.stdout.splitlines()
    assert first.endswith("error   tuner: event-1 reason='two words' count=3")
    assert trace == ["    Traceback:", "      at\\x1b[31m line 1"]


def test_what_a_process_said_that_could_not_start_is_shown(place: Place, mms: Invoke) -> None:
    (place.logs / "tuner.out").write_text("tuner: the store is from a newer version\n")
    result = mms([logs], "logs", "tuner")
    assert result.stdout.endswith("output  tuner: tuner: the store is from a newer version\n")
    (line,) = map(json.loads, mms([logs], "logs", "tuner", "--json").stdout.splitlines())
    assert (line["name"], line["output"]) == ("tuner", "tuner: the store is from a newer version")


def test_json_gives_the_lines_as_they_are(place: Place, mms: Invoke) -> None:
    write(place, "tuner", 1, trace_id="t-1", text="한국어")
    (line,) = map(json.loads, mms([logs], "logs", "--json").stdout.splitlines())
    assert line == {
        "name": "tuner", "ts": "2026-11-30T10:00:01.000000Z", "level": "info", "event": "event-1",
        "trace_id": "t-1", "text": "한국어",
    }  # fmt: skip


def test_an_unknown_actor_names_the_known_ones(place: Place, mms: Invoke) -> None:
    assert "there are no logs in" in mms([logs], "logs").stderr
    write(place, "tuner", 1)
    write(place, "upstream", 1)
    result = mms([logs], "logs", "tunr")
    assert result.exit_code == 1
    assert result.stderr == "Error: no log of tunr; there are logs of tuner, upstream\n"


def test_what_the_actors_really_write_can_be_read(place: Place, mms: Invoke) -> None:
    log = Log("tuner", place.logs)
    try:
        raise ValueError("with detail")
    except ValueError as error:
        log.error("failed", exc_info=error, key="값")
    shown = mms([logs], "logs", "tuner").stdout
    assert "error   tuner: failed key=값" in shown
    assert "ValueError: with detail" in shown


@pytest.mark.parametrize("rotate", [False, True])
def test_a_tail_reads_on_over_partial_lines_and_rotation(place: Place, rotate: bool) -> None:
    path = place.logs / "tuner.log"
    path.write_text("first\nsec")
    tail = Tail(path)
    assert [line.text for line in tail.read()] == ["first"]
    with open(path, "a") as file:
        file.write("ond\n")
    assert [line.text for line in tail.read()] == ["second"]
    if rotate:
        path.rename(path.with_suffix(".log.1"))
    path.write_text("new\n")
    assert [line.text for line in tail.read()] == ["new"]
    path.unlink()
    assert tail.read() == []


def test_follow_shows_new_lines_and_new_logs_until_interrupted(place: Place, tmp_path: Path) -> None:
    write(place, "tuner", 1)
    shown = tmp_path / "shown"
    with open(shown, "w") as out:
        command = [sys.executable, "-P", "-m", "cli", "logs", "-f"]
        env = environment(place) | {"PYTHONUNBUFFERED": "1"}
        follower = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.PIPE)
    eventually_blocking(lambda: told(shown.read_text()) == ["tuner: event-1"])
    write(place, "tuner", 2)
    write(place, "upstream", 3)
    eventually_blocking(lambda: told(shown.read_text())[1:] == ["tuner: event-2", "upstream: event-3"])
    os.kill(follower.pid, 2)
    _, stderr = follower.communicate(timeout=30)
    assert (follower.returncode, stderr.strip()) == (130, b"Interrupted.")


def test_a_long_log_does_not_begin_in_the_middle_of_a_line(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.logs.TAIL_BYTES", 25)
    path = place.logs / "upstream.log"
    path.write_text('{"event": "first"}\n{"event": "second"}\n{"ev')
    tail = Tail(path)
    assert [line.text for line in tail.read()] == ['{"event": "second"}']
    with open(path, "a") as file:
        file.write('ent": "third"}\n')
    assert [line.text for line in tail.read()] == ['{"event": "third"}']
