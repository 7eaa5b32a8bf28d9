"""What `mms health` makes of what it is told."""

from __future__ import annotations

import msgspec
import pytest

from actors.compressor.messages import RecallStats
from actors.surfacer.messages import SurfacerHealth
from actors.telemetry.messages import TelemetryHealth
from actors.upstream.messages import Catalogue, ServerState, Withheld
from cli.health import Health, findings
from cli.lifecycle import duration
from cli.survey import Line, Survey
from config.problems import Problem

WELL = Health(
    survey=Survey(mode="pinned", build="b", actors=(Line(name="upstream", state="ready", build="b"),)),
    catalogue=Catalogue(generation="g", servers=(ServerState(name="fs", prefix="fs", state="ready"),)),
    surfacer=SurfacerHealth(ltm="ready"),
    telemetry=TelemetryHealth(),
    recall=RecallStats(),
)


def with_part(part: str, **changes: object) -> Health:
    return msgspec.structs.replace(WELL, **{part: msgspec.structs.replace(getattr(WELL, part), **changes)})


def server(state: str, error: str = "", **more: object) -> tuple[ServerState, ...]:
    return (ServerState(name="fs", prefix="fs", state=state, error=error, **more),)  # type: ignore[arg-type]


def test_all_is_well() -> None:
    assert findings(WELL, []) == ([], [])


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (with_part("catalogue", servers=server("failed", "no such file")), "the upstream fs is down: no such file"),
        (with_part("catalogue", servers=server("reconnecting")), "the upstream fs is reconnecting"),
        (
            with_part("catalogue", servers=server("ready", breaker="open", failures=3, next_try_seconds=41.2)),
            "the upstream fs is resting after 3 failures, next try in 42 s",
        ),
        (
            with_part("catalogue", servers=server("ready", replacement="failed", replacement_error="no such file")),
            "the changed connection of the upstream fs does not work, the old one stays in force: no such file",
        ),
        (
            with_part("catalogue", config_error="line 3"),
            "the configuration is broken, the last good one stays in force: line 3",
        ),
        (with_part("surfacer", ltm="down", ltm_error="it\x1bdied"), "the LTM is down: it\\x1bdied"),
        (
            with_part("surfacer", breaker="open"),
            "surfacing pauses after repeated failures of the LTM; it tries again by itself",
        ),
        (
            with_part("telemetry", store="failed", store_error="disk full"),
            "the analytics store cannot be used: disk full",
        ),
        (
            with_part("survey", actors=(Line(name="tuner", state="down", last_exit="exit 1: broken"),)),
            "the actor tuner is down: exit 1: broken",
        ),
    ],
)
def test_what_is_down_is_bad(found: Health, line: str) -> None:
    assert findings(found, []) == ([line], [])


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (
            with_part("catalogue", withheld=(Withheld(server="fs", tool="x", reason="bad_schema", detail="no type"),)),
            "fs: the tool x is withheld (bad_schema) no type",
        ),
        (
            with_part("telemetry", dropped_by_producers={"a": 2, "b": 3}),
            "5 telemetry events were dropped by their producers",
        ),
        (
            with_part("catalogue", servers=server("ready", breaker="half_open", failures=3)),
            "the upstream fs is resting after 3 failures, the next call tries it",
        ),
        (with_part("telemetry", store="held", store_error="python has it"), "the analytics store: python has it"),
        (with_part("recall", key_fault="recall.key could be read by others"), "recall.key could be read by others"),
        (
            msgspec.structs.replace(
                with_part("recall", key_fault="moved to recall.key.damaged-2026Z"),
                set_aside=("recall.key.damaged-2026Z",),
            ),
            "a damaged file was set aside and made anew: recall.key.damaged-2026Z",
        ),
        (
            msgspec.structs.replace(WELL, set_aside=("recall.db.damaged-2026Z",)),
            "a damaged file was set aside and made anew: recall.db.damaged-2026Z",
        ),
        (
            with_part("survey", build="c"),
            "the cluster runs other code than this command; `mms restart` brings it up to date",
        ),
    ],
)
def test_what_is_worth_knowing_is_no_failure(found: Health, line: str) -> None:
    assert findings(found, []) == ([], [line])


def test_problems_of_the_configuration_are_noted() -> None:
    assert findings(WELL, [Problem("warning", "cache", "cach is not a key")]) == ([], ["warning: cach is not a key"])


def test_parts_that_do_not_answer_are_no_finding_of_their_own() -> None:
    silent = Health(survey=WELL.survey, catalogue=None, surfacer=None, telemetry=None, recall=None)
    assert findings(silent, []) == ([], [])


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (59.9, "59s"), (60, "1m"), (61, "1m 1s"), (3_600, "1h"), (90_061, "1d 1h"), (86_400, "1d")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
