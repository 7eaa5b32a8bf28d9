"""From a key in steps to its declaration, and from a text to its value: what variables and `mms set` share."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from config.fields import Block, Field, fields_of

UNIONS = (typing.Union, types.UnionType)


def declaration(
    block: type[Block], steps: Sequence[str], node: Any, *, path: tuple[str, ...] = (), fold: bool = False
) -> tuple[tuple[str, ...], Field | None] | None:
    """The key path that `steps` mean inside a block, and its declaration; `None` when there is no such key.

    The declaration is `None` for a name inside a map of texts (`env.TOKEN`).

    Args:
        node: the block's present content, for the names in it.
        path: leads the returned path.
        fold: names match without regard to case, and new ones are lower-cased (variables are mostly capitals).
    """
    first, rest = steps[0], steps[1:]
    field = fields_of(block).get(first.lower() if fold else first)
    if field is None:
        return None
    path = (*path, field.name)
    node = node.get(field.name) if isinstance(node, Mapping) else None
    if not rest:
        return path, field
    if field.block:
        return declaration(field.block, rest, node, path=path, fold=fold)
    if field.entries:
        known = node if isinstance(node, Mapping) else {}
        name = rest[0]
        if fold:
            name = next((n for n in known if n.lower() == name.lower()), name.lower())
        if rest[1:]:
            return declaration(field.entries, rest[1:], known.get(name), path=(*path, name), fold=fold)
        return (*path, name), field._replace(block=field.entries, entries=None)
    if len(rest) == 1 and holds(field.type, dict):
        return (*path, rest[0]), None
    return None


def decode(text: str, field: Field | None) -> Any:
    """The value in a text: decoded JSON for lists, maps and blocks, else the text for a lenient conversion.

    Returns:
        `UNSET` for an empty text where a text is not a value (an unset compose variable, say).

    Raises:
        msgspec.DecodeError: JSON is expected and this is none.
    """
    if field is None:
        return text
    if field.block or field.entries or holds(field.type, dict) or holds(field.type, tuple):
        return msgspec.json.decode(text) if text.strip() else msgspec.UNSET
    return text if text or holds(field.type, str) else msgspec.UNSET


def holds(kind: Any, wanted: type) -> bool:
    """Whether a key's type is, or has among its alternatives, `wanted`."""
    if kind is wanted or typing.get_origin(kind) is wanted:
        return True
    if typing.get_origin(kind) is typing.Annotated:
        return holds(typing.get_args(kind)[0], wanted)
    return typing.get_origin(kind) in UNIONS and any(holds(part, wanted) for part in typing.get_args(kind))
