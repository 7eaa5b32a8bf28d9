"""Every error has a code of its own, so that it comes back as the class it was raised as."""

from __future__ import annotations

import actors.upstream.messages  # noqa: F401 (adds its errors to the tree)
import bus.rpc  # noqa: F401
from bus.errors import BusError, from_wire


def all_errors(root: type[BusError]) -> list[type[BusError]]:
    return [root, *(found for child in root.__subclasses__() for found in all_errors(child))]


def test_codes_are_unique_and_lead_back_to_their_class() -> None:
    errors = all_errors(BusError)
    assert len({error.code for error in errors}) == len(errors)
    assert [type(from_wire(error.code, "m")) for error in errors] == errors


def test_an_unknown_code_is_a_plain_error() -> None:
    error = from_wire("from_the_future", "text", "t-1")
    assert (type(error), error.message, error.trace_id) == (BusError, "text", "t-1")
