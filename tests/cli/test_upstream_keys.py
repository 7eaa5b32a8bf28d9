"""`mms show` and `mms set`."""

import json
from typing import Any

import pytest

from cli.upstream_keys import set_keys, show
from config.place import Place
from tests.cli.conftest import Invoke, document_of

COMMANDS = [show, set_keys]
FS = {"prefix": "fs", "command": "x", "env": {"TOKEN": "hunter2"}, "custom": 1}


@pytest.fixture(autouse=True)
def upstreams(place: Place) -> None:
    servers = {"fs": FS, "web": {"prefix": "web", "url": "https://x"}, "bad": 5}
    place.config_file.write_text(json.dumps({"upstream_servers": servers}))


def entry_of(place: Place, name: str = "fs") -> dict[str, Any]:
    found = json.loads(place.config_file.read_text())["upstream_servers"][name]
    assert isinstance(found, dict)
    return found


def test_set_stores_values_as_what_they_are(mms: Invoke, place: Place) -> None:
    result = mms(
        COMMANDS,
        *["set", "fs", "compression=hybrid", "max_result_chars=8000", "surfacing_enabled=false", 'args=["-y", "5"]'],
        *["cwd=5", "env.B=${B}", "hybrid.head_ratio=0.5", "tool_overrides.Read.hidden=true", "cache=null"],
    )
    assert result.exit_code == 0, result.stderr
    assert entry_of(place) == FS | {
        "compression": "hybrid",
        "max_result_chars": 8000,
        "surfacing_enabled": False,
        "args": ["-y", "5"],
        "cwd": "5",
        "env": {"TOKEN": "hunter2", "B": "${B}"},
        "hybrid": {"head_ratio": 0.5},
        "tool_overrides": {"Read": {"hidden": True}},
        "cache": None,
    }


def test_unset(mms: Invoke, place: Place) -> None:
    assert mms(COMMANDS, "set", "fs", "--unset", "env.TOKEN", "--unset", "custom").exit_code == 0
    assert entry_of(place) == {"prefix": "fs", "command": "x", "env": {}}


@pytest.mark.parametrize(
    ("argv", "error", "words"),
    [
        (["fs", "compresion=auto"], "unknown_key", "did you mean compression?"),
        (["fs", "hybrid.x=1"], "unknown_key", "hybrid.x"),
        (["fs", "--unset", "cwd"], "unknown_key", "not in the file"),
        (["fs", "compression=zip"], "bad_value", "must be one of"),
        (["fs", "max_retries=-1"], "bad_value", ">= 0"),
        (["fs", "max_retries=x"], "bad_value", "must be a whole number, not a text"),
        (["fs", "args=-y"], "bad_value", "takes JSON"),
        (["fs", "max_retries="], "bad_value", "--unset max_retries"),
        (["fs", "prefix=web"], "bad_value", "already"),
        (["fs", "transport=sse"], "bad_value", "needs"),
        (["fs", "--unset", "prefix"], "bad_value", "is missing"),
        (["wbe", "cwd=x"], "unknown_upstream", "did you mean web?"),
        (["bad", "cwd=x"], "invalid_upstream", "config validate"),
    ],
)
def test_what_cannot_be_used_changes_nothing(
    mms: Invoke, place: Place, argv: list[str], error: str, words: str
) -> None:
    before = place.config_file.read_bytes()
    result = mms(COMMANDS, "set", *argv, "--json")
    found = document_of(result)
    assert (result.exit_code, found["error"]) == (1, error)
    assert words in found["message"]
    assert not found["message"].endswith((" is used", " is left out")), "nothing follows from what was refused"
    assert place.config_file.read_bytes() == before


@pytest.mark.parametrize("argv", [["fs"], ["fs", "novalue"], ["fs", "=x"]])
def test_usage(mms: Invoke, argv: list[str]) -> None:
    assert mms(COMMANDS, "set", *argv).exit_code == 2


def test_show(mms: Invoke) -> None:
    result = mms(COMMANDS, "show", "fs", "--json")
    rows = {row["key"]: row for row in document_of(result)["keys"]}
    assert (rows["command"]["value"], rows["command"]["origin"]) == ("x", "file")
    assert (rows["max_retries"]["value"], rows["max_retries"]["origin"]) == (3, "default")
    assert rows["env"]["value"] == {"TOKEN": "***"}
    assert "hunter2" not in result.output
    assert mms(COMMANDS, "show", "fs").stdout.splitlines()[0].split() == ["KEY", "VALUE", "ORIGIN", "MEANING"]


@pytest.mark.parametrize(("name", "error"), [("bad", "invalid_upstream"), ("nobody", "unknown_upstream")])
def test_show_what_is_not_usable(mms: Invoke, name: str, error: str) -> None:
    assert document_of(mms(COMMANDS, "show", name, "--json"))["error"] == error
