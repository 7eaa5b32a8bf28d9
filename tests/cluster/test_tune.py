"""`mms tune` on a running cluster: what it recommends, carries out, and does not repeat."""

from __future__ import annotations

import asyncio
import json

import pytest

from actors.tuner.messages import ReportCompression
from bus.client import Bus
from bus.endpoint import Runtime
from config.place import Place
from tests.cluster.conftest import Mms

pytestmark = pytest.mark.slow


async def report(place: Place, tool: str) -> None:
    bus = Bus(Runtime(place.runtime), "test")
    try:
        for _ in range(3):
            request = ReportCompression(server="fs", tool=tool, missing="the second half")
            assert (await bus.ask(request, timeout=10, wait=10)).ok
    finally:
        bus.close()


def test_recommendations_are_carried_out_once(home: Place, mms: Mms) -> None:
    entry = {
        "prefix": "fs",
        "command": "no-such-program",
        "enabled": False,
        "tool_overrides": {"read": {"cache": True}},
    }
    home.config_file.write_text(json.dumps({"upstream_servers": {"fs": entry}, "unknown": 1}))
    stopped = mms("tune")
    assert stopped.returncode == 1
    assert "mms up" in stopped.stderr
    assert mms("up").returncode == 0
    nothing = mms("tune")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "Nothing to gain" in nothing.stderr

    asyncio.run(report(home, "read"))
    before = home.config_file.read_bytes()
    shown = mms("tune", "--tool", "fs__read")
    assert "raise max_result_chars 16,000 → 32,000" in shown.stdout
    assert "3 reports of lost information" in shown.stdout
    assert home.config_file.read_bytes() == before
    assert json.loads(mms("tune", "--tool", "fs__write", "--json").stdout)["recommendations"] == []

    done = json.loads(mms("tune", "--apply", "--json").stdout)
    assert (done["ok"], done["applied"], len(done["recommendations"])) == (True, True, 1)
    written = json.loads(home.config_file.read_text())
    assert written["unknown"] == 1
    tool = written["upstream_servers"]["fs"]["tool_overrides"]["read"]
    assert tool == {"cache": True, "max_result_chars": 32_000, "max_result_tokens": 8_000}
    assert json.loads(mms("tune", "--json").stdout)["recommendations"] == []
    assert mms("tune", "--since-hours", "-1").returncode == 2
    assert mms("down").returncode == 0
