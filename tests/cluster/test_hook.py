"""The hook as a host runs it: a process with an event on stdin, beside a real cluster with a scripted memory server."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cli.hook import MAX_EVENT_BYTES
from tests.eventually import eventually_blocking
from tests.fixtures import host_events as events
from tests.fixtures.home import MMS
from tests.fixtures.hook_place import ROTATION, HookPlace, cluster


def shown(answer: dict[str, Any]) -> tuple[str, list[str]]:
    """The surfacing id and the memory ids in a memory block."""
    block = answer["additionalContext"]
    [surfacing_id] = re.findall(r"_surfacing_id: (\w+)_", block)
    return surfacing_id, re.findall(r"`([0-9a-f-]{36})`", block)


@pytest.fixture(scope="module")
def place() -> Iterator[HookPlace]:
    compression = {"enabled": True, "max_chars": 3000}
    surfacing = {"dedup_ttl_seconds": 0, "circuit_max_failures": 1, "circuit_reset_seconds": 1}
    with cluster(hook={"compression": compression}, surfacing=surfacing) as found:
        yield found


def test_a_memory_comes_once_a_session(place: HookPlace) -> None:
    answer = place.says(ROTATION, session="one")
    assert answer["hookEventName"] == "PostToolUse"
    assert set(answer) == {"hookEventName", "additionalContext"}
    assert answer["additionalContext"].startswith("<surfaced-memories>")
    assert "rotates the refresh token" in answer["additionalContext"]
    assert place.is_silent(ROTATION, session="one")
    assert "rotates the refresh token" in place.says(ROTATION, session="two")["additionalContext"]


def test_codex_gets_the_same_from_its_shell(place: HookPlace) -> None:
    event = events.codex("cat docs/refresh-token-rotation-handler.md", "text\n" * 2000)
    answer = place.says(event, "--host", "codex", session="codex")
    assert set(answer) == {"hookEventName", "additionalContext"}


def test_every_gate_holds_as_for_a_proxied_call(place: HookPlace) -> None:
    short = events.read("src/auth/refresh_token_rotation_handler.py", "x = 1\n")
    writing = {**ROTATION, "tool_name": "Write"}
    other = {**ROTATION, "tool_name": "WebFetch"}
    for event in (short, writing, other):
        assert place.is_silent(event, session="gates")
    assert place.is_silent(ROTATION, session="off", MEMTOMEM_STM_SURFACING__ENABLED="false")
    assert place.is_silent(ROTATION, "--host", "cursor", session="gates")
    eventually_blocking(lambda: place.events("opportunity", decision="response_too_short"))
    [event] = place.events("opportunity", decision="response_too_short")
    assert (event["server"], event["tool"], event["response_chars"]) == ("builtin", "Read", len("x = 1\n"))
    assert not place.events("opportunity", tool="Write")
    assert not place.events("opportunity", tool="WebFetch")


def test_a_tool_that_writes_is_never_asked_about(place: HookPlace) -> None:
    """Not even one that somebody has listed."""
    place.change(lambda document: document["hook"].update(surface_tools=["Read", "Edit", "Grep", "Bash"]))
    assert place.is_silent({**ROTATION, "tool_name": "Edit"}, session="edit")
    eventually_blocking(lambda: place.events("opportunity", tool="Edit", decision="gate_write_tool"))


def test_what_it_shows_is_an_event_and_can_be_rated(place: HookPlace) -> None:
    surfacing_id, [memory_id] = shown(place.says(ROTATION, session="rated"))
    eventually_blocking(lambda: place.events("surfacing", surfacing_id=surfacing_id))
    [event] = place.events("surfacing", surfacing_id=surfacing_id)
    assert (event["server"], event["tool"], event["arm"]) == ("builtin", "Read", "shown")
    rating = json.dumps({"surfacing_id": surfacing_id, "rating": "helpful"})
    assert place.home.mms("call", "stm_surfacing_feedback", rating).returncode == 0
    eventually_blocking(lambda: place.events("feedback", surfacing_id=surfacing_id))
    [event] = place.events("feedback", surfacing_id=surfacing_id)
    assert (event["memory_id"], event["rating"], event["server"]) == (memory_id, "helpful", "builtin")


def test_some_are_withheld_where_the_effect_is_measured(place: HookPlace) -> None:
    place.change(lambda document: document["surfacing"].update(holdout_rate=0.5))
    sessions = (f"holdout {n}" for n in range(100))
    outcomes: set[bool] = set()
    eventually_blocking(lambda: outcomes.add(place.is_silent(ROTATION, session=next(sessions))) or len(outcomes) == 2)
    eventually_blocking(lambda: place.events("opportunity", server="builtin", decision="withheld"))
    eventually_blocking(lambda: place.events("surfacing", server="builtin", arm="withheld"))
    place.change(lambda document: document["surfacing"].update(holdout_rate=0))


def log(lines: int) -> str:
    return "".join(f"10:00:{n % 60:02} worker {n * 7919 % 1000} handled job {n}\n" for n in range(lines))


def test_long_shell_output_is_replaced_and_can_be_read_through_the_gateway(place: HookPlace) -> None:
    output = log(300) + "ERROR boom: connection refused\n" + log(10)
    answer = place.says(events.bash("make test", output, "warned\n"), session="shell")
    updated = answer["updatedToolOutput"]
    assert set(updated) == {"stdout", "stderr", "interrupted", "isImage", "noOutputExpected"}
    assert updated["stderr"] == "warned\n"
    assert len(updated["stdout"]) <= 3000
    assert "ERROR boom: connection refused" in updated["stdout"]
    [key] = re.findall(r'stm_proxy_read_more\(key="([^"]+)"', updated["stdout"])
    page = place.home.mms("call", "stm_proxy_read_more", json.dumps({"key": key, "offset": 0, "limit": 1000}))
    assert output[:900] in page.stdout
    eventually_blocking(lambda: place.events("call", server="builtin"))
    [event] = place.events("call", server="builtin")
    chars = len(output) + len("warned\n")
    assert (event["tool"], event["ok"], event["original_chars"], event["session"]) == ("Bash", True, chars, "shell")
    assert event["delivered_chars"] == len(updated["stdout"]) + len("warned\n") <= 3000


def test_output_that_cannot_be_replaced_stays(place: HookPlace) -> None:
    for event in (
        events.bash("make", log(10)),
        events.bash("cat x.png", "A" * 9000, isImage=True),
        events.bash("make", log(300), persistedOutputPath="/x/1.txt"),
        events.codex("make", log(300)),
    ):
        assert place.is_silent(event, session="stays")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"\x00\xff" * 4096,
        events.encoded(ROTATION)[:-9],
        b"[" * 100_000,
    ],
    ids=["empty", "nonsense", "binary", "truncated", "deep"],
)
def test_what_is_no_event_costs_nothing(place: HookPlace, data: bytes) -> None:
    assert place.is_silent(data)


def test_an_event_of_five_megabytes_is_an_event(place: HookPlace) -> None:
    event = events.read("src/auth/refresh_token_rotation_handler.py", "x = 1\n" * 850_000)
    assert "additionalContext" in place.says(event, session="large")


def test_a_closed_stdin_and_an_absent_reader_are_survived(place: HookPlace) -> None:
    for redirection in ("<&-", "</dev/null", "< ev >&-", "< ev 2>&-"):
        (place.home.path / "ev").write_bytes(events.encoded({**ROTATION, "session_id": redirection}))
        argv = ["/bin/sh", "-c", f'exec "{MMS}" hook --host claude {redirection}']
        done = subprocess.run(argv, env=place.home.environment(), cwd=place.home.path, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_stdin_that_never_ends_costs_the_budget_and_no_more(place: HookPlace) -> None:
    argv = [str(MMS), "hook"]
    with subprocess.Popen(argv, env=place.home.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait(60) == 0


def test_words_that_it_does_not_know_are_passed_over(place: HookPlace) -> None:
    assert "additionalContext" in place.says(ROTATION, "--no-daemon", "--host=claude", "x", session="words")


def test_the_programs_own_options_come_first(place: HookPlace) -> None:
    argv = [str(MMS), "--config", str(place.home.config_file), "hook", "--host", "claude"]
    event = events.encoded({**ROTATION, "session_id": "options"})
    done = subprocess.run(argv, env=place.home.environment(), input=event, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"additionalContext" in done.stdout


def test_a_hung_surfacer_is_not_waited_for(place: HookPlace) -> None:
    pid = place.owner("surfacer")
    os.kill(pid, signal.SIGSTOP)
    try:
        assert place.is_silent(ROTATION, session="stopped")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert place.owner("surfacer") == pid
    eventually_blocking(lambda: not place.is_silent(ROTATION, session=f"continued {time.monotonic()}"))


def test_a_broken_configuration_changes_nothing(place: HookPlace) -> None:
    good = place.home.config_file.read_text()
    place.home.config_file.write_text(good[:-20])
    try:
        assert "additionalContext" in place.says(ROTATION, session="broken")
        quiet = place.hook(ROTATION, session="broken too", MEMTOMEM_STM_SURFACING__MAX_RESULTS="1")
        assert (quiet.returncode, quiet.stderr) == (0, b"")
    finally:
        place.home.config_file.write_text(good)


def test_settings_take_effect_without_a_restart(place: HookPlace) -> None:
    place.change(lambda document: document["hook"].update(surface_tools=["Grep"]))
    assert place.is_silent(ROTATION, session="settings")
    place.change(lambda document: document["hook"].pop("surface_tools"))
    assert "additionalContext" in place.says(ROTATION, session="settings")


def test_a_hung_memory_server_costs_one_budget_and_then_nothing(place: HookPlace) -> None:
    place.ltm.tell(behaviour="hang")
    assert place.is_silent(events.read("src/payments/stripe_webhook_idempotency.py"), session="hung")
    eventually_blocking(lambda: place.breaker() != "closed")
    place.ltm.tell(behaviour="ok")
    sessions = (f"again {n}" for n in range(1000))
    eventually_blocking(lambda: not place.is_silent(ROTATION, session=next(sessions)))


def test_it_imports_next_to_nothing(place: HookPlace) -> None:
    """The interpreter tells what it imports on the way of an event that brings a memory."""
    done = place.hook(ROTATION, session="imports", PYTHONPROFILEIMPORTTIME="1")
    assert b"additionalContext" in done.stdout
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.decode().split("\n") if "|" in line}
    assert "cli.hook_bus" in imported, "the interpreter has told nothing"
    heavy = {"mcp", "pydantic", "duckdb", "click", "structlog", "asyncio", "subprocess", "logging", "uvloop"}
    assert {name for name in imported if name.partition(".")[0] in heavy} == set()
    assert "config.load" not in imported


def test_what_goes_wrong_is_written_down_and_nowhere_else(place: HookPlace) -> None:
    assert place.is_silent(ROTATION, session="wrong", MMS_RUNTIME_DIR="/" + "x" * 200)
    log = place.home.path / "bus" / "logs" / "hook.log"
    assert place.is_silent(events.encoded(events.grep("zzz", "x" * (MAX_EVENT_BYTES + 1))))
    runtime, too_large = (json.loads(line)["error"] for line in log.read_text().splitlines())
    assert "set MMS_RUNTIME_DIR" in runtime
    assert "narrow the hook's matcher" in too_large
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "hook_failed" in place.home.mms("logs", "hook").stdout


def test_its_subcommands_are_commands_like_any_other(place: HookPlace) -> None:
    assert json.loads(place.home.mms("hook", "status", "--json").stdout)["ok"]
    assert "Examples" in place.home.mms("hook", "--help").stdout
    done = place.home.mms("hook", "install", "--nonsense")
    assert (done.returncode, done.stdout) == (2, "")
