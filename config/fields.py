"""How a settings key is declared (`doc`) and how a declaration is read back (`fields_of`)."""

import types
import typing
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

Scope = Literal["cluster", "session"]

Block = msgspec.Struct
"""A group of keys. Every block is a frozen, keyword-only `Struct`."""

# Infinity would break timers, and integers beyond 64 bits cannot travel as msgpack.
LONGEST_SECONDS = 1e9
LARGEST = 2**53 - 1

Positive = Annotated[int, Meta(gt=0, le=LARGEST)]
NotNegative = Annotated[int, Meta(ge=0, le=LARGEST)]
DescriptionChars = Annotated[int, Meta(ge=32, le=LARGEST)]
PositiveNumber = Annotated[float, Meta(gt=0, le=1e12)]
Seconds = Annotated[float, Meta(gt=0, le=LONGEST_SECONDS)]
SecondsOrOff = Annotated[float, Meta(ge=0, le=LONGEST_SECONDS)]
Days = Annotated[float, Meta(ge=0, le=36_500)]
Share = Annotated[float, Meta(ge=0, le=1)]


def doc(text: str, *, scope: Scope = "cluster", effect: bool = True, on_error: object = None) -> Meta:
    """The declaration of a key, for use in `Annotated`.

    Args:
        text: one line on what the key means, with its unit.
        scope: who decides: the cluster's file and environment, or each client's own environment.
        effect: `False` for keys of memtomem-stm files that are accepted and mean nothing here; `text` then says why.
        on_error: the value to use instead of the default when the given one has the wrong type (fail closed).
    """
    return Meta(description=text, extra={"scope": scope, "effect": effect, "on_error": on_error})


class Field(NamedTuple):
    """One key of a block.

    Attributes:
        type: for `msgspec.convert`, constraints included.
        default: the value without file and environment (`msgspec.NODEFAULT` when the key is required).
        block: the nested block's type, if the key holds one.
        entries: the block type of a name → block map, if the key holds one.
    """

    name: str
    type: Any
    default: Any
    text: str
    scope: Scope
    effect: bool
    on_error: object
    block: type[Block] | None
    entries: type[Block] | None


@cache
def fields_of(block: type[Block]) -> dict[str, Field]:
    """The keys of a block in the order of their declaration."""
    return {info.name: _field(info) for info in msgspec.structs.fields(block)}


def _field(info: msgspec.structs.FieldInfo) -> Field:
    base, text = info.type, ""
    extra: dict[str, Any] = {"scope": "cluster", "effect": True, "on_error": None}
    if typing.get_origin(base) is Annotated:
        base, *metas = typing.get_args(base)
        for meta in metas:
            text, extra = meta.description or text, extra | dict(meta.extra or {})
    default = info.default
    if default is msgspec.NODEFAULT and info.default_factory is not msgspec.NODEFAULT:
        default = info.default_factory()
    return Field(info.name, info.type, default, text, **extra, block=_block(base), entries=_entries(base))


def _block(kind: Any) -> type[Block] | None:
    if isinstance(kind, type) and issubclass(kind, Block):
        return kind
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return next((found for part in typing.get_args(kind) if (found := _block(part))), None)
    return None


def _entries(kind: Any) -> type[Block] | None:
    return _block(typing.get_args(kind)[1]) if typing.get_origin(kind) is dict else None
