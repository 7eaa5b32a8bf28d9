"""From "what failed?" to one call's way, over real calls through a cluster, and again after it has stopped."""

from __future__ import annotations

import json

import pytest

from config.place import Place
from tests.cluster.conftest import Mms
from tests.eventually import eventually_blocking
from tests.fixtures.upstreams import upstream


@pytest.mark.slow
def test_a_call_that_failed_is_found_and_followed(home: Place, mms: Mms) -> None:
    servers = {"odd": upstream("failing", "odd")}
    home.config_file.write_text(json.dumps({"surfacing": {"enabled": False}, "upstream_servers": servers}))
    assert mms("up").returncode == 0
    assert mms("call", "odd__fine").returncode == 0
    assert mms("call", "odd__plain").returncode == 1
    eventually_blocking(lambda: json.loads(mms("trace", "--json").stdout)["found"] == 2)
    for _ in range(2):
        (failed,) = json.loads(mms("trace", "--failed", "--since", "1h", "--json").stdout)["calls"]
        assert (failed["tool"], failed["error"]) == ("odd__plain", "upstream_error")
        found = json.loads(mms("trace", failed["trace_id"][:9], "--json").stdout)
        assert (found["trace_id"], found["call"]["ok"]) == (failed["trace_id"], False)
        first, second, *_, last = found["stages"]
        assert [first["stage"], second["stage"], last["stage"]] == ["gateway", "upstream", "gateway"]
        ends = last["offset_ms"] + last["duration_ms"]
        assert abs(ends - found["call"]["total_ms"]) < 0.01, "the stages are the whole"
        figures = json.loads(mms("stats", "--json").stdout)
        savings = figures["savings"]
        assert savings["calls"] == savings["live"] + savings["cached"] + savings["failed"] == 2
        assert figures["surfacing"]["calls_by_decision"] == {"disabled": 2}
        counted = mms("sql", "SELECT count(*) AS n FROM call", "--format", "csv")
        assert counted.stdout == "n\n2\n"
        mms("down")  # and the same from the file
