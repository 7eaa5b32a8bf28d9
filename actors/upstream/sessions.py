"""The clients behind the pool: what each wants to hear, what it has been asked, and the way to it."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass

import msgspec

from actors.upstream.library_messages import LOG_LEVELS, Attend, ServerMessage, lies_within
from actors.upstream.messages import UpstreamUnavailable
from bus import jsonrpc
from bus.errors import Refused
from bus.log import Log
from bus.rpc import RpcError

ATTEND_SECONDS = 5.0
"""How long a request waits for the lease of its client to arrive (after a restart of the pool)."""
MAX_WAITING = 1_000
"""Messages that a gateway may be behind before further ones are dropped."""
ASKABLE = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""What a server may ask its client, and the capability that allows it."""
_EVERYBODY = ("notifications/prompts/list_changed", "notifications/resources/list_changed")
_UPDATED = "notifications/resources/updated"
_MESSAGE = "notifications/message"
_ELICITED = "notifications/elicitation/complete"


@dataclass(frozen=True)
class Asker:
    """A server that waits for an answer, and the JSON of the token under which it wants to hear of progress."""

    server: str
    token: msgspec.Raw


class ClientSession:
    """One client of a gateway, for as long as the gateway attends. It may do so more than once at a time (a client of
    the stateless era over HTTP has nothing but requests); notifications go to each, questions to one.

    Attributes:
        calls: requests in flight, by server.
    """

    def __init__(self, attend: Attend, log: Log) -> None:
        self.id = attend.session
        self.cwd = attend.cwd
        self.level = attend.log_level
        self.subscriptions = set(attend.subscriptions)
        self.calls: dict[str, int] = {}
        self._log = log
        self._behind = False
        self._queues: list[asyncio.Queue[ServerMessage]] = []
        self._numbers = itertools.count(1)
        self._questions: dict[int, asyncio.Future[bytes]] = {}
        self._askers: dict[int, Asker] = {}

    @property
    def attended(self) -> bool:
        return bool(self._queues)

    def attend(self) -> asyncio.Queue[ServerMessage]:
        """What is said to the client from now on."""
        queue: asyncio.Queue[ServerMessage] = asyncio.Queue(MAX_WAITING)
        self._queues.append(queue)
        return queue

    def leave(self, queue: asyncio.Queue[ServerMessage]) -> None:
        self._queues.remove(queue)

    def tell(self, message: ServerMessage) -> bool:
        """Passes something on; false when nobody takes it. Of messages that are dropped in a row one is logged."""
        queues = self._queues[-1:] if message.number else self._queues
        free = [queue for queue in queues if not queue.full()]
        for queue in free:
            queue.put_nowait(message)
        behind = len(free) < len(queues)
        if behind and not self._behind:
            self._log.warning("message_dropped", server=message.server, method=message.method)
        self._behind = behind
        return bool(free)

    def ask(self, server: str, method: str, params: bytes) -> asyncio.Future[bytes]:
        """Passes a request of a server to the client."""
        number = next(self._numbers)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._questions[number] = future
        token = progress_token(params)
        if token is not None:
            self._askers[number] = Asker(server, token)
        future.add_done_callback(lambda done: self._over(server, number, done))
        if not self.tell(ServerMessage(server=server, method=method, params=params, number=number)):
            error = jsonrpc.error_object(jsonrpc.INTERNAL_ERROR, "the client cannot be reached at the moment")
            future.set_exception(RpcError("not asked", raw=error))
        return future

    def asker(self, number: int) -> Asker | None:
        """Who wants to hear of the progress with a request."""
        return self._askers.get(number)

    def answer(self, number: int, result: bytes | None, error: bytes | None) -> None:
        future = self._questions.get(number)
        if future is None or future.done():
            return  # taken back meanwhile
        if result is not None:
            future.set_result(result)
        else:
            future.set_exception(RpcError("the client refused", raw=error or b""))

    def wants(self, level: str) -> bool:
        """Whether a log message of this level is to be shown; a client that never said decides for itself."""
        if not self.level or level not in LOG_LEVELS:
            return True
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.level)

    def close(self) -> None:
        for future in list(self._questions.values()):
            future.cancel()

    def _over(self, server: str, number: int, future: asyncio.Future[bytes]) -> None:
        self._questions.pop(number, None)
        self._askers.pop(number, None)
        if future.cancelled():
            self.tell(ServerMessage(server=server, method="notifications/cancelled", number=number))


class Sessions:
    """All of them. Is the `Link` of servers that they share."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._sessions: dict[str, ClientSession] = {}
        self._opened = asyncio.Event()

    def open(self, attend: Attend) -> ClientSession:
        session = self._sessions.get(attend.session)
        if session is None:
            session = self._sessions[attend.session] = ClientSession(attend, self._log)
            self._opened.set()
            self._opened = asyncio.Event()
        return session

    def close(self, session: ClientSession) -> None:
        """Forgets a session that nobody attends to any more."""
        session.close()
        del self._sessions[session.id]

    def get(self, name: str) -> ClientSession | None:
        return self._sessions.get(name)

    async def wait(self, name: str) -> ClientSession:
        """Raises UpstreamUnavailable: the gateway of this session does not attend."""
        try:
            async with asyncio.timeout(ATTEND_SECONDS):
                while name not in self._sessions:
                    await self._opened.wait()
        except TimeoutError:
            raise UpstreamUnavailable("a server of one's own needs a client that stays connected; try again") from None
        return self._sessions[name]

    # Link

    def said(self, server: str, method: str, params: bytes) -> None:
        if method == _UPDATED:
            uri = uri_of(params)
            hearers = [s for s in self._sessions.values() if follows(s, server, uri)]
        elif method in _EVERYBODY:
            hearers = list(self._sessions.values())
        elif method == _MESSAGE:
            hearers = self._addressee(server, level_of(params))
        else:
            return
        for session in hearers:
            session.tell(ServerMessage(server=server, method=method, params=params))

    def asked(self, server: str, method: str, params: bytes) -> None:
        """A shared session cannot tell whose call a request belongs to, so nobody is asked."""

    def subscribed(self, server: str, without: ClientSession | None = None) -> set[str]:
        others = [session for session in self._sessions.values() if session is not without]
        return {uri for session in others for name, uri in session.subscriptions if name == server}

    def log_level(self) -> str:
        levels = [session.level for session in self._sessions.values() if session.level]
        return min(levels, key=LOG_LEVELS.index, default="")

    def _addressee(self, server: str, level: str) -> list[ClientSession]:
        """Whom a log message of a shared server is for. It may tell of a call, so it goes to the only client that can
        have caused it, or to nobody."""
        callers = [session for session in self._sessions.values() if session.calls.get(server)]
        candidates = callers or list(self._sessions.values())
        if len(candidates) != 1:
            self._log.info("upstream_message_undelivered", server=server, level=level, candidates=len(candidates))
            return []
        return [session for session in candidates if session.wants(level)]


class OwnLink:
    """The `Link` of a server that is dedicated to one session."""

    def __init__(self, session: ClientSession, capabilities: bytes) -> None:
        self._session = session
        declared = jsonrpc.value(capabilities)
        self._declared = declared if isinstance(declared, dict) else {}

    def said(self, server: str, method: str, params: bytes) -> None:
        if method == _MESSAGE and not self._session.wants(level_of(params)):
            return
        if method in (_UPDATED, _MESSAGE, _ELICITED, *_EVERYBODY):
            self._session.tell(ServerMessage(server=server, method=method, params=params))

    def asked(self, server: str, method: str, params: bytes) -> asyncio.Future[bytes] | None:
        if ASKABLE.get(method) not in self._declared:
            return None
        return self._session.ask(server, method, params)

    def subscribed(self, server: str) -> set[str]:
        return {uri for name, uri in self._session.subscriptions if name == server}

    def log_level(self) -> str:
        return self._session.level


def askable(capabilities: bytes) -> bytes:
    """Of the capabilities that a client declares, those that let a server ask it something."""
    if not capabilities:
        return b"{}"
    parts = jsonrpc.members(capabilities)
    return jsonrpc.encode({name: parts[name] for name in ASKABLE.values() if bytes(parts.get(name, b""))[:1] == b"{"})


def check_level(level: str) -> None:
    """Raises Refused for a level that the protocol does not have."""
    if level not in LOG_LEVELS:
        raise Refused(f"no such log level; it is one of {', '.join(LOG_LEVELS)}")


def follows(session: ClientSession, server: str, uri: str) -> bool:
    """Whether a change of `uri` is reported to it: subscribed to it, or to something that contains it."""
    return any(name == server and lies_within(uri, wanted) for name, wanted in session.subscriptions)


def uri_of(params: bytes) -> str:
    return _string(params, "uri")


def level_of(params: bytes) -> str:
    return _string(params, "level")


def progress_token(params: bytes) -> msgspec.Raw | None:
    """The JSON of the token of a request that wants to hear of its progress."""
    try:
        token = jsonrpc.members(jsonrpc.members(params).get("_meta", b"{}")).get("progressToken")
    except msgspec.MsgspecError:
        return None
    return token if token is not None and jsonrpc.is_valid_id(bytes(token)) else None


def _string(params: bytes, name: str) -> str:
    try:
        value = jsonrpc.value(jsonrpc.members(params).get(name, msgspec.Raw(b'""')))
    except msgspec.MsgspecError:
        return ""
    return value if isinstance(value, str) else ""
