"""`mms config`."""

import json
from typing import Any

import pytest

from cli.settings import config
from config.place import Place
from tests.cli.conftest import Invoke, document_of

SECRET = "hunter2hunter2"


def write(place: Place, document: Any) -> None:
    place.config_file.write_text(json.dumps(document))


def test_path(mms: Invoke, place: Place) -> None:
    result = mms([config], "config", "path")
    assert result.stdout == f"{place.config_file}\n"
    assert "mms add" in result.stderr
    write(place, {})
    assert document_of(mms([config], "config", "path", "--json"))["exists"] is True
    assert mms([config], "--config", "/x/y.json", "config", "path").stdout == "/x/y.json\n"


def test_validate(mms: Invoke, place: Place) -> None:
    result = mms([config], "config", "validate")
    assert result.exit_code == 0
    assert "there is no such file" in result.stdout
    write(place, {"surfacin": {}, "metrics": {"enabled": True}})
    result = mms([config], "config", "validate")
    assert result.exit_code == 0
    assert "did you mean surfacing?" in result.stderr
    assert "has no effect" in result.stderr
    write(place, {"upstream_servers": {"x": {"prefix": "x", "command": 5}}})
    result = mms([config], "config", "validate")
    assert (result.exit_code, result.stdout) == (1, f"{place.config_file}: 1 error\n")
    found = document_of(mms([config], "config", "validate", "--json"))
    assert (found["action"], found["ok"], found["error"]) == ("config validate", False, "config_error")
    assert [problem["key"] for problem in found["problems"]] == ["upstream_servers.x.command"]


def test_validate_names_unset_variables_and_open_secrets(
    mms: Invoke, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET_ANYWHERE", raising=False)
    server = {"prefix": "x", "command": "npx", "env": {"A": "${NOT_SET_ANYWHERE}"}}
    write(place, {"upstream_servers": {"x": server}})
    place.config_file.chmod(0o644)
    result = mms([config], "config", "validate")
    assert result.exit_code == 0
    assert "NOT_SET_ANYWHERE" in result.stderr
    assert "chmod" not in result.stderr
    write(place, {"upstream_servers": {"x": server | {"env": {"A": SECRET}}}})
    result = mms([config], "config", "validate")
    assert "chmod 600" in result.stderr
    assert SECRET not in result.output
    place.config_file.chmod(0o600)
    assert mms([config], "config", "validate").stderr == ""


def test_validate_says_what_is_wrong_with_a_broken_file(mms: Invoke, place: Place) -> None:
    place.config_file.write_text("[]")
    result = mms([config], "config", "validate", "--json")
    assert result.exit_code == 1
    assert "must hold a JSON object" in document_of(result)["message"]


def test_show_masks_secrets(mms: Invoke, place: Place) -> None:
    server = {
        "prefix": "x",
        "command": "npx",
        "args": ["--api-key", SECRET],
        "env": {"A": SECRET, "B": "${B}"},
        "headers": {"Authorization": f"Bearer {SECRET}"},
        "url": f"https://u:{SECRET}@h/?token={SECRET}",
        "llm": {"api_key": SECRET},
        "origin": {"original": {"env": {"A": SECRET}}},
    }
    write(place, {"upstream_servers": {"x": server}, "langfuse": {"secret_key": SECRET}})
    for argv in (["show"], ["show", "--json"], ["show", "--origin"]):
        result = mms([config], "config", *argv)
        assert result.exit_code == 0
        assert SECRET not in result.output
        assert "${B}" in result.stdout


def test_show_origin(mms: Invoke, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, {"surfacing": {"min_score": 0.5}})
    monkeypatch.setenv("MEMTOMEM_STM_SURFACING__MAX_RESULTS", "2")
    result = mms([config], "config", "show", "surfacing", "--origin", "--json")
    rows = {row["key"]: row for row in document_of(result)["settings"]}
    assert all(key.startswith("surfacing.") for key in rows)
    assert (rows["surfacing.min_score"]["value"], rows["surfacing.min_score"]["origin"]) == (0.5, "file")
    own = rows["surfacing.max_results"]
    assert (own["value"], own["origin"], own["scope"]) == (
        2,
        "environment MEMTOMEM_STM_SURFACING__MAX_RESULTS",
        "session",
    )
    assert rows["surfacing.cooldown_seconds"]["origin"] == "default"
    assert rows["surfacing.cooldown_seconds"]["text"]
    text = mms([config], "config", "show", "surfacing.min_score", "--origin").stdout
    assert text.splitlines()[1].split()[:4] == ["surfacing.min_score", "0.5", "file", "cluster"]


def test_show_leaves_out_what_means_nothing(mms: Invoke) -> None:
    assert "metrics.max_history" not in mms([config], "config", "show").stdout
    assert "no effect" in mms([config], "config", "show", "--origin").stdout
    assert "metrics.max_history = 10000" in mms([config], "config", "show", "metrics").stdout


def test_show_an_unknown_key(mms: Invoke) -> None:
    result = mms([config], "config", "show", "surfacing.min_scor", "--json")
    assert result.exit_code == 1
    assert "did you mean surfacing.min_score?" in document_of(result)["message"]


def test_show_of_a_broken_file_is_an_error(mms: Invoke, place: Place) -> None:
    place.config_file.write_text("")
    assert document_of(mms([config], "config", "show", "--json"))["error"] == "config_error"
