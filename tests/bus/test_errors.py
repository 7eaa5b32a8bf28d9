"""Every error has a code of its own, so that it comes back as the class it was raised as."""

from __future__ import annotations

import importlib
import pkgutil

import actors
import bus
import config
import gateway
from bus.errors import BusError, from_wire


def import_everything() -> None:
    """Every module adds its errors to the tree."""
    for package in (actors, bus, config, gateway):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def all_errors(root: type[BusError]) -> list[type[BusError]]:
    return [root, *(found for child in root.__subclasses__() for found in all_errors(child))]


def test_codes_are_unique_and_lead_back_to_their_class() -> None:
    import_everything()
    errors = all_errors(BusError)
    assert len({error.code for error in errors}) == len(errors)
    assert [type(from_wire(error.code, "m")) for error in errors] == errors


def test_an_unknown_code_is_a_plain_error() -> None:
    error = from_wire("from_the_future", "text", "t-1")
    assert (type(error), error.message, error.trace_id) == (BusError, "text", "t-1")
