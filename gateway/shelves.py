"""What the servers offer beside tools, under names that are the clients': one list of each kind, and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from actors.upstream.library_messages import Kind, Library, ListLibrary
from bus import jsonrpc
from bus.client import Bus
from gateway.eras import without_nulls
from gateway.uris import Names, matches

LIST_SECONDS = 6.0
"""The pool leaves out a slow server before that."""
_NAME = {"resources": "uri", "templates": "uriTemplate", "prompts": "name"}


@dataclass(frozen=True)
class Place:
    """Where something is: the server, its prefix, and the server's own name for it."""

    server: str
    prefix: str
    name: str


class Shelves:
    """The lists of one client. They are asked for anew each time, and remembered for finding the way back.

    Args:
        prefixes: of every server of the configuration, by server.
    """

    def __init__(self, bus: Bus, prefixes: dict[str, str]) -> None:
        self._bus = bus
        self._servers = {prefix: server for server, prefix in prefixes.items()}
        self._prefixes = prefixes
        self._names = Names(prefixes.values())
        self._known: dict[Kind, dict[str, list[Place]]] = {}

    async def list(self, kind: Kind, session: str, capabilities: bytes) -> list[bytes]:
        """The JSON of every entry, with its public name. Raises BusError."""
        request = ListLibrary(kind=kind, session=session, capabilities=capabilities)
        library: Library = await self._bus.ask(request, timeout=LIST_SECONDS)
        listed: list[tuple[str, Place, bytes]] = []
        for offer in library.offers:
            for raw in offer.entries:
                entry = _entry(kind, raw)
                if entry is None:
                    continue
                own, parts = entry
                public = self._public(kind, offer.prefix, own)
                if public:
                    place = Place(offer.server, offer.prefix, own)
                    listed.append((public, place, jsonrpc.encode({**parts, _NAME[kind]: public})))
        taken = Counter(public for public, _, _ in listed)
        found = [entry for entry in listed if taken[entry[0]] == 1]  # which one is meant must not depend on order
        self._known[kind] = _by_own_name(found) if kind != "prompts" else {public: [at] for public, at, _ in found}
        return [raw for _, _, raw in found]

    async def prompt(self, name: str, session: str, capabilities: bytes) -> Place | None:
        """The prompt of a public name, by the last list; a name that is not in it is looked for in a new one."""
        for again in (False, True):
            if again or "prompts" not in self._known:
                await self.list("prompts", session, capabilities)
            places = self._known["prompts"].get(name)
            if places:
                return places[0]
        return None

    async def resource(self, uri: str, session: str, capabilities: bytes) -> Place | None:
        """The resource, or the template, of a URI: a public one, or a server's own as tools mention it, if that is
        listed, or fits a template, at one server only."""
        own = self._names.own(uri)
        if own is not None:
            prefix, rest = own
            return Place(self._servers[prefix], prefix, rest)
        if "" in self._servers:
            return Place(self._servers[""], "", uri)
        kinds: tuple[Kind, Kind] = ("resources", "templates")
        for kind in kinds:
            await self.list(kind, session, capabilities)
        found = {(place.server, place.prefix) for place in self._known["resources"].get(uri, [])} or {
            (place.server, place.prefix)
            for template, places in self._known["templates"].items()
            if matches(template, uri) or template == uri
            for place in places
        }
        if len(found) != 1:
            return None
        [(server, prefix)] = found
        return Place(server, prefix, uri)

    def public_uri(self, server: str, uri: str) -> str:
        return self._names.public(self._prefixes.get(server, ""), uri) or uri

    def _public(self, kind: Kind, prefix: str, own: str) -> str:
        if kind == "prompts":
            return f"{prefix}__{own}" if prefix else own
        return self._names.public(prefix, own)


def _entry(kind: Kind, raw: bytes) -> tuple[str, dict[str, Any]] | None:
    """The server's own name of an entry and its members, repaired where clients would refuse the whole list; `None`
    for one that is beyond that."""
    try:
        parts: dict[str, Any] = without_nulls(raw)
        own = jsonrpc.string(parts[_NAME[kind]])
    except (KeyError, msgspec.MsgspecError):
        return None
    if bytes(parts.get("name", b""))[:1] != b'"':
        parts["name"] = own
    for key, opening in (
        ("title", b'"'),
        ("description", b'"'),
        ("mimeType", b'"'),
        ("arguments", b"["),
        ("_meta", b"{"),
    ):
        if key in parts and bytes(parts[key])[:1] != opening:
            del parts[key]
    if "arguments" in parts and b"null" in bytes(parts["arguments"]):
        parts["arguments"] = [without_nulls(argument) for argument in jsonrpc.elements(parts["arguments"])]
    return own, parts


def _by_own_name(listed: Iterable[tuple[str, Place, bytes]]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for _, place, _ in listed:
        found.setdefault(place.name, []).append(place)
    return found
