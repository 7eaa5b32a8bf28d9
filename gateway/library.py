"""Resources, prompts, completions and subscriptions, as clients ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from actors.upstream.library_messages import LOG_LEVELS, AskServer, Kind, SetLogLevel, Subscribe
from actors.upstream.messages import CallResult, UpstreamInvalid
from bus import jsonrpc
from bus.errors import BusError
from bus.message import Blob
from config.schema import Settings
from gateway.attendance import CHANGES, PROMPTS_CHANGED, RESOURCES_CHANGED, acknowledged, stamp
from gateway.eras import RESOURCE_NOT_FOUND, Failure, failed, finished, foreign_meta, without_nulls
from gateway.interim import interim
from gateway.session import Listen, ProgressRelay, Request, Session
from gateway.shelves import Place, Shelves
from gateway.upstream import Terms, Upstream

SUBSCRIBE_SECONDS = 30.0
LEVEL_SECONDS = 10.0
_LISTS: dict[str, tuple[Kind, str, str]] = {
    "resources/list": ("resources", "resources", RESOURCES_CHANGED),
    "resources/templates/list": ("templates", "resourceTemplates", RESOURCES_CHANGED),
    "prompts/list": ("prompts", "prompts", PROMPTS_CHANGED),
}


class Library:
    """Answers of the protocol that the servers' libraries give."""

    def __init__(self, upstream: Upstream, settings: Callable[[], Settings]) -> None:
        self._upstream = upstream
        self._settings = settings
        self._shelves: dict[Session, tuple[dict[str, str], Shelves]] = {}

    def close(self, session: Session) -> None:
        self._shelves.pop(session, None)

    def shelves(self, session: Session) -> Shelves:
        """Those of a client, by the names of the present configuration."""
        servers = self._settings().proxy.upstream_servers
        prefixes = {name: server.prefix for name, server in servers.items() if server.enabled}
        known = self._shelves.get(session)
        if known is None or known[0] != prefixes:
            known = self._shelves[session] = (prefixes, Shelves(self._upstream.bus, prefixes))
        return known[1]

    async def list(self, session: Session, request: Request) -> bytes:
        kind, key, changes = _LISTS[request.method]
        check_cursor(request)
        entries = await self.shelves(session).list(kind, session.name, session.askable(request))
        if not request.stateless:  # clients of the other era are told what they have subscribed to
            session.listed.add(changes)
        return finished(
            b"{}", stateless=request.stateless, listed=True, replaced={key: list(map(msgspec.Raw, entries))}
        )

    async def read(self, session: Session, request: Request) -> bytes | None:
        uri = _text(request, "uri")
        place = await self._resource(session, request, uri)
        answer = await self._ask(session, request, place, {"uri": place.name})
        named = uri != place.name

        def contents(raw: bytes) -> dict[str, Any]:
            return {"contents": [self._content(session, place, named, entry) for entry in _elements(raw, "contents")]}

        return self._answer(session, request, answer, listed=True, replace=contents)

    async def get_prompt(self, session: Session, request: Request) -> bytes | None:
        place = await self._prompt(session, request, _text(request, "name"))
        answer = await self._ask(session, request, place, {"name": place.name})

        def messages(raw: bytes) -> dict[str, Any]:
            return {"messages": [_message(entry) for entry in _elements(raw, "messages")]}

        return self._answer(session, request, answer, replace=messages)

    async def complete(self, session: Session, request: Request) -> bytes | None:
        raw = jsonrpc.members(request.params).get("ref")
        if raw is None or bytes(raw)[:1] != b"{":
            raise Failure(jsonrpc.INVALID_PARAMS, "ref must be an object")
        ref: dict[str, Any] = dict(jsonrpc.members(raw))
        key = "name" if bytes(ref.get("type", b"")) == b'"ref/prompt"' else "uri"
        try:
            name = jsonrpc.string(ref[key])
        except (KeyError, msgspec.MsgspecError):
            raise Failure(jsonrpc.INVALID_PARAMS, f"ref needs a {key}") from None
        place = await (
            self._prompt(session, request, name) if key == "name" else self._resource(session, request, name)
        )
        answer = await self._ask(session, request, place, {"ref": {**ref, key: place.name}})
        return self._answer(
            session,
            request,
            answer,
            replace=lambda raw: {"completion": without_nulls(jsonrpc.members(raw).get("completion", b'{"values":[]}'))},
        )

    async def subscribe(self, session: Session, request: Request) -> bytes | None:
        uri = _text(request, "uri")
        begin = request.method == "resources/subscribe"
        place = await self._resource(session, request, uri)
        at = (place.server, place.name)
        if begin and at not in session.subscribed:
            answer = await self._follow(session, request, place)
            if answer is not None and answer.error is not None:
                session.reply(request, jsonrpc.error(request.id, answer.error.data))
                return None
            session.subscribed[at] = uri
        elif not begin and session.subscribed.pop(at, None) is not None:
            await self._unfollow(session, at)
        return b"{}"

    async def listen(self, session: Session, request: Request) -> bytes:
        """Stays open until the client cancels it, or leaves."""
        wanted = jsonrpc.value(request.params).get("notifications")
        if not isinstance(wanted, dict):
            raise Failure(jsonrpc.INVALID_PARAMS, "notifications must be an object")
        listen = Listen(frozenset(method for key, method in CHANGES.items() if wanted.get(key) is True))
        uris = wanted.get("resourceSubscriptions")
        try:
            for uri in uris if isinstance(uris, list) else []:
                if isinstance(uri, str):
                    await self._include(session, request, listen, uri)
            session.send(acknowledged(request.id, listen))
            session.listens[request.id] = listen
            await listen.over.wait()
        finally:
            session.listens.pop(request.id, None)
            for at in listen.resources:
                await self._unfollow(session, at)
        return jsonrpc.encode({"resultType": "complete", "_meta": stamp(request.id)})

    async def set_level(self, session: Session, request: Request) -> bytes:
        level = _text(request, "level")
        if level not in LOG_LEVELS:
            raise Failure(jsonrpc.INVALID_PARAMS, f"level must be one of {', '.join(LOG_LEVELS)}")
        session.level = level
        try:
            await self._upstream.bus.ask(SetLogLevel(session=session.name, level=level), timeout=LEVEL_SECONDS)
        except BusError:
            pass  # the pool is starting; it gets the level with the client's lease
        return b"{}"

    # Finding

    async def _include(self, session: Session, request: Request, listen: Listen, uri: str) -> None:
        """Makes a resource part of a subscription, if that is possible; what is not is not acknowledged."""
        try:
            place = await self._find(session, request, uri)
            if place is None or (place.server, place.name) in listen.resources:
                return
            answer = await self._follow(session, request, place)
        except BusError:
            return
        if answer is None or answer.error is None:
            listen.resources[place.server, place.name] = uri

    async def _find(self, session: Session, request: Request, uri: str) -> Place | None:
        return await self.shelves(session).resource(uri, session.name, session.askable(request))

    async def _resource(self, session: Session, request: Request, uri: str) -> Place:
        place = await self._find(session, request, uri)
        if place is None:
            code = jsonrpc.INVALID_PARAMS if request.stateless else RESOURCE_NOT_FOUND
            raise Failure(code, "no such resource; resources/list shows what there is", {"uri": uri})
        return place

    async def _prompt(self, session: Session, request: Request, name: str) -> Place:
        place = await self.shelves(session).prompt(name, session.name, session.askable(request))
        if place is None:
            raise Failure(jsonrpc.INVALID_PARAMS, f"unknown prompt: {name}; prompts/list shows what there is")
        return place

    # Asking

    async def _ask(self, session: Session, request: Request, place: Place, own: dict[str, Any]) -> CallResult:
        """The request in the server's own names; `own` are the members that differ."""
        parts: dict[str, Any] = without_nulls(request.params)
        inputs: dict[str, msgspec.Raw] = {
            key: parts.pop(key) for key in ("inputResponses", "requestState") if key in parts
        }
        meta = foreign_meta(request.meta)
        parts.pop("_meta", None)
        if meta is not None:
            parts["_meta"] = msgspec.Raw(meta)
        relay = ProgressRelay(session, request)
        asked = AskServer(
            server=place.server,
            method=request.method,
            params=Blob(jsonrpc.encode({**parts, **own})),
            progress=relay.wanted,
            session=session.name,
            capabilities=session.askable(request),
            log_level=session.level_for(request),
            handshake=not request.stateless,
        )
        server = self._settings().proxy.upstream_servers.get(place.server)
        seconds = server.overall_deadline_seconds if server is not None else SUBSCRIBE_SECONDS
        terms = Terms(request.method, True, seconds, on_progress=relay if relay.wanted else None)
        answer = await self._upstream.ask(asked, terms, client=session, stateless=request.stateless, inputs=inputs)
        await relay.settle()
        return answer

    def _answer(
        self,
        session: Session,
        request: Request,
        answer: CallResult,
        *,
        listed: bool = False,
        replace: Callable[[bytes], dict[str, Any]],
    ) -> bytes | None:
        """The server's answer for this client. An error is sent here and now."""
        if answer.error is not None:
            session.reply(request, jsonrpc.error(request.id, failed(answer.error.data, request.stateless)))
            return None
        if answer.result is None:
            raise UpstreamInvalid(f"the server answered {request.method} with nothing")
        raw = answer.result.data
        if request.stateless and interim(raw) is not None:
            return raw
        try:
            return finished(raw, stateless=request.stateless, listed=listed, replaced=replace(raw))
        except msgspec.MsgspecError as error:
            raise UpstreamInvalid(f"the server's answer to {request.method} has another shape: {error}") from None

    def _content(self, session: Session, place: Place, named: bool, raw: msgspec.Raw) -> dict[str, Any]:
        """The contents of one resource, under the kind of URI that the client has asked with."""
        parts: dict[str, Any] = without_nulls(raw)
        uri = jsonrpc.string(parts["uri"]) if "uri" in parts else place.name
        return {**parts, "uri": self.shelves(session).public_uri(place.server, uri) if named else uri}

    async def _follow(self, session: Session, request: Request, place: Place) -> CallResult | None:
        """Subscribes at the server, unless another subscription of this client has done so: then `None`."""
        at = (place.server, place.name)
        if session.followed.get(at):
            session.followed[at] += 1
            return None
        subscribe = Subscribe(
            session=session.name,
            server=place.server,
            uri=place.name,
            capabilities=session.askable(request),
            handshake=not request.stateless,
        )
        answer: CallResult = await self._upstream.bus.ask(subscribe, timeout=SUBSCRIBE_SECONDS)
        if answer.error is None:
            session.followed[at] = session.followed.get(at, 0) + 1
        return answer

    async def _unfollow(self, session: Session, at: tuple[str, str]) -> None:
        left = session.followed.get(at, 0) - 1
        if left > 0:
            session.followed[at] = left
            return
        session.followed.pop(at, None)
        server, uri = at
        request = Subscribe(session=session.name, server=server, uri=uri, on=False)
        try:
            await self._upstream.bus.ask(request, timeout=SUBSCRIBE_SECONDS)
        except BusError:
            pass  # a server that is gone reports nothing


def check_cursor(request: Request) -> None:
    """Raises Failure for any cursor: our lists have one page."""
    cursor = jsonrpc.members(request.params).get("cursor")
    if cursor is not None and bytes(cursor) != b"null":
        raise Failure(jsonrpc.INVALID_PARAMS, "invalid cursor: the list has one page")


def _text(request: Request, name: str) -> str:
    try:
        return jsonrpc.string(jsonrpc.members(request.params)[name])
    except (KeyError, msgspec.MsgspecError):
        raise Failure(jsonrpc.INVALID_PARAMS, f"{name} must be a string") from None


def _elements(raw: bytes, name: str) -> list[msgspec.Raw]:
    found = jsonrpc.members(raw).get(name)
    return jsonrpc.elements(found) if found is not None else []


def _message(raw: msgspec.Raw) -> dict[str, Any]:
    parts: dict[str, Any] = without_nulls(raw)
    if bytes(parts.get("content", b""))[:1] == b"{":
        parts["content"] = without_nulls(parts["content"])
    return parts
