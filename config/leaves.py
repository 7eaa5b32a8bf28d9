"""Lists every setting with its value, scope and meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from config.fields import Block, Scope, fields_of
from config.schema import Settings


class Leaf(NamedTuple):
    """One setting: its key path in the file's terms, its value, who decides about it, what it means, and whether it
    does anything here."""

    key: str
    value: Any
    scope: Scope
    text: str
    effect: bool


def leaves(settings: Settings) -> Iterator[Leaf]:
    """All settings in the order of the schema, the proxy's keys first and without a section."""
    yield from _leaves(settings.proxy, "")
    yield from (leaf for leaf in _leaves(settings, "") if not leaf.key.startswith(("proxy.", "stated")))


def _leaves(block: Block, start: str) -> Iterator[Leaf]:
    for field in fields_of(type(block)).values():
        key, value = start + field.name, getattr(block, field.name)
        if isinstance(value, Block):
            yield from _leaves(value, f"{key}.")
        elif field.entries:
            for name, entry in value.items():
                yield from _leaves(entry, f"{key}.{name}.")
        else:
            yield Leaf(key, value, field.scope, field.text, field.effect)
