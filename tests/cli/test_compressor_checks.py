"""What `mms doctor` says of compressors and models."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from actors.compressor.messages import SummaryStats
from cli.compressor_checks import check_compressors, check_models
from cli.health import Health, findings
from cli.survey import Line, Survey
from config.load import load_settings
from config.place import Place

SECRET = "sk-live-0123456789abcdef0123"


def health(*names: str, summaries: SummaryStats | None = None) -> Health:
    actors = tuple(Line(name=name, state="ready") for name in names)
    return Health(
        survey=Survey(actors=actors), catalogue=None, surfacer=None, telemetry=None, recall=None, summaries=summaries
    )


def write(place: Place, llm: dict[str, Any], **settings: Any) -> None:
    servers = {"notes": {"prefix": "n", "command": "x", "compression": "llm_summary", "llm": llm}}
    place.config_file.write_text(json.dumps({"upstream_servers": servers, **settings}))
    place.config_file.chmod(0o600)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("upstream", "compressor", "compressor-2"), [("PASS", "2 compressors share the load")]),
        (("compressor",), [("WARN", "1 compressor in the cluster, bus.compressor_replicas says 2")]),
    ],
)
def test_replicas_are_counted(place: Place, names: tuple[str, ...], found: list[tuple[str, str]]) -> None:
    write(place, {}, bus={"compressor_replicas": 2})
    checks = list(check_compressors(load_settings(place, {}), health(*names)))
    assert [(check.state, check.detail) for check in checks] == found
    assert list(check_compressors(load_settings(place, {}), None)) == []


def test_a_single_compressor_is_nothing_to_tell(place: Place) -> None:
    assert list(check_compressors(load_settings(place, {}), health("compressor"))) == []


def test_a_model_needs_a_key(place: Place) -> None:
    write(place, {"model": "gpt-4.1-mini"})
    loaded = load_settings(place, {})
    (missing,) = check_models(loaded, None, {})
    assert (missing.name, missing.state) == ("llm", "FAIL")
    assert "notes: openai needs a key: set OPENAI_API_KEY" in missing.detail
    assert missing.fix
    (present,) = check_models(loaded, None, {"OPENAI_API_KEY": SECRET})
    assert (present.state, present.detail) == ("PASS", "openai gpt-4.1-mini at api.openai.com summarises notes")


def test_a_model_that_rests_is_named_here_and_in_health(place: Place) -> None:
    write(place, {"api_key": SECRET})
    found = health("compressor", summaries=SummaryStats(resting=("m at https://x.example/v1/messages",)))
    passed, resting = check_models(load_settings(place, {}), found, {})
    assert (passed.state, resting.state) == ("PASS", "WARN")
    assert resting.detail.startswith("m at https://x.example/v1/messages failed repeatedly")
    assert SECRET not in passed.detail + resting.detail
    _, notes = findings(found, [])
    assert any("m at https://x.example/v1/messages rests" in note for note in notes)


def test_what_replicas_did_is_told_together() -> None:
    parts = [
        SummaryStats(made=2, repeated=1, fell_back={"timeout": 1}, resting=("m",)),
        SummaryStats(made=3, fell_back={"timeout": 2, "empty": 1}, resting=("m", "n")),
    ]
    assert msgspec.to_builtins(SummaryStats.together(parts)) == {
        "made": 5,
        "repeated": 1,
        "fell_back": {"timeout": 3, "empty": 1},
        "resting": ("m", "n"),
    }
