"""Which tool of which server a name means."""

from __future__ import annotations

import pytest

from cli.tool_names import split
from config.schema_upstream import UpstreamSettings

SERVERS = {
    "filesystem": UpstreamSettings(prefix="fs", command="x"),
    "fs_old": UpstreamSettings(prefix="fs_old", command="x"),
    "git": UpstreamSettings(prefix="time", command="x"),
    "time": UpstreamSettings(prefix="clock", command="x"),
}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("fs__read_file", ("filesystem", "read_file")),
        ("filesystem__read_file", ("filesystem", "read_file")),
        ("fs_old__read", ("fs_old", "read")),
        ("time__now", ("time", "now")),
        ("clock__now", ("time", "now")),
        ("fs__a__b", ("filesystem", "a__b")),
        ("read_file", ("", "read_file")),
        ("builtin__Bash", ("", "builtin__Bash")),
        ("", ("", "")),
    ],
)
def test_a_servers_name_counts_before_a_prefix(name: str, meant: tuple[str, str]) -> None:
    assert split(SERVERS, name) == meant


def test_a_server_without_prefix_is_not_in_the_name() -> None:
    assert split({"only": UpstreamSettings(prefix="", command="x")}, "__odd") == ("", "__odd")
