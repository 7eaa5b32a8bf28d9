"""The official conformance suites behind the gateway. `make conformance` runs them in every way, and compares with the
same server without the gateway: it passes as many checks as are asked for here."""

from __future__ import annotations

import pytest

from tests.conformance.suites import HANDSHAKE, STATELESS, Suite, missing, run
from tests.conformance.targets import Target, serving
from tests.fixtures.official import unavailable

pytestmark = [pytest.mark.npm, pytest.mark.slow]

WAYS = [(HANDSHAKE, Target("streamable_http", "dedicated"), 44), (STATELESS, Target("stdio"), 167)]


@pytest.mark.parametrize(("suite", "target", "without"), WAYS, ids=[suite.package for suite, _, _ in WAYS])
def test_nothing_is_lost_behind_the_gateway(suite: Suite, target: Target, without: int) -> None:
    if missing():
        unavailable("the official conformance suite")
    with serving(target) as url:
        found = run(suite, url)
    assert found.passes, found.faults
    assert found.count("SUCCESS") >= without
