"""Several processes of one actor: their names, and which one serves a content first. Pure."""

from __future__ import annotations

import hashlib
import re

_NAME = re.compile(r"([a-z][a-z0-9_]*?)(?:-([2-9]|1\d))?")


def replica(actor: str, number: int) -> str:
    """The name of a replica: the actor's own for the first, `compressor-2` for the second."""
    return actor if number == 1 else f"{actor}-{number}"


def replicas(actor: str, count: int) -> tuple[str, ...]:
    """The names of all replicas."""
    return tuple(replica(actor, number) for number in range(1, count + 1))


def actor_of(name: str) -> str:
    """The actor that a replica belongs to; the name itself where it is not one of a replica."""
    match = _NAME.fullmatch(name)
    return match[1] if match else name


def ranked(content: bytes, names: tuple[str, ...]) -> list[str]:
    """The names in the order in which they serve a content (rendezvous hashing): equal contents meet the same replica,
    and one that comes or goes moves nothing but its own share."""
    if len(names) == 1:
        return list(names)
    digest = hashlib.sha256(content).digest()
    return sorted(names, key=lambda name: hashlib.sha256(digest + name.encode()).digest())
