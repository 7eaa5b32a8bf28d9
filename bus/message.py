"""What a contract is made of: request types, reply types, and big texts that travel beside them."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import msgspec

R = TypeVar("R", bound="Reply | None")


class Blob:
    """Bytes that travel as a ZeroMQ frame of their own: packed once, never re-encoded, never escaped.

    Use it for texts and JSON of any size; a text that may hold lone surrogates must be a `Blob`, since msgpack
    strings refuse them.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    @classmethod
    def of(cls, text: str) -> Blob:
        """UTF-8, with lone surrogates kept by `surrogatepass`."""
        return cls(text.encode("utf-8", "surrogatepass"))

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        return len(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blob) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return f"Blob({len(self.data)} bytes)"


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of everything an actor answers with."""


class Request(msgspec.Struct, Generic[R], frozen=True, kw_only=True, omit_defaults=True):
    """Base of everything an actor can be asked; `R` is the reply type (`None` for a bare acknowledgement).

    Class attributes:
        actor: the actor that handles it.
        reply: the reply type, for decoding. For a `watch`, the type of each item.
        item: the type of what an ask streams before its reply, if it does.
        idempotent: the client may send it again after a lost connection.
    The operation's name on the wire is the class name.
    """

    actor: ClassVar[str]
    reply: ClassVar[Any] = None
    item: ClassVar[Any] = None
    idempotent: ClassVar[bool] = False


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of what is streamed before the reply of an ask (progress, say)."""
