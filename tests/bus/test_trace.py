"""Trace ids, and what they are to OpenTelemetry."""

from __future__ import annotations

import pytest

from bus.trace import new_trace_id, otel_ids, span_id

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_an_id_of_ours_can_be_looked_up_at_the_backend() -> None:
    found = new_trace_id()
    trace, parent = otel_ids(found)
    assert f"{trace:032x}" == "0" * 16 + found
    assert parent is None
    assert new_trace_id() != found


def test_within_a_clients_trace_each_call_has_an_id_of_its_own() -> None:
    one, other = new_trace_id(f"00-{TRACE}-{SPAN}-01"), new_trace_id(f"00-{TRACE}-{SPAN}-03")
    assert one != other
    assert otel_ids(one) == otel_ids(other) == (int(TRACE, 16), int(SPAN, 16))
    assert span_id(one, "call") != span_id(other, "call")


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        "nonsense",
        f"00-{TRACE}-{SPAN}-00",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n",
    ],
)
def test_what_is_no_recorded_context_counts_as_none(traceparent: str) -> None:
    assert len(new_trace_id(traceparent)) == 16


def test_later_versions_of_the_header_are_read_as_far_as_they_are_known() -> None:
    assert otel_ids(new_trace_id(f"01-{TRACE}-{SPAN}-01-more")) == (int(TRACE, 16), int(SPAN, 16))


def test_any_other_text_is_an_id_too() -> None:
    assert otel_ids("hook") == otel_ids("hook") != otel_ids("hook2")
    assert 0 < otel_ids("0" * 16)[0] < 2**128
    assert 0 < span_id("hook", "call") < 2**64
