"""The beginning of a connection: the session is opened, and the server says what it offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from actors.upstream import handshake
from actors.upstream.conversation import LISTS, Conversation
from actors.upstream.library_messages import Kind
from actors.upstream.link import Link
from actors.upstream.messages import UpstreamUnavailable
from bus.errors import PeerUnavailable
from bus.rpc import Rpc


@dataclass(frozen=True)
class Manner:
    """How a server is spoken to.

    Attributes:
        capabilities: JSON of what its clients can be asked by it.
        probes: it can be asked for its era.
        handshake: of the two eras, the older one is preferred.
    """

    capabilities: bytes = b"{}"
    probes: bool = True
    handshake: bool = False


@dataclass(frozen=True)
class Begun:
    """A conversation, and what the server has listed at its beginning.

    Attributes:
        offers: entries of its other lists; empty unless they were asked for.
        warnings: oddities, for people.
    """

    talk: Conversation
    tools: list[bytes]
    offers: dict[Kind, list[bytes]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


async def begin(
    server: str,
    peer: Rpc,
    link: Link,
    manner: Manner,
    *,
    seconds: float,
    deadline: float,
    everything: bool,
    on_gap: Callable[[], None],
) -> Begun:
    """Begins to speak with a server.

    Args:
        seconds: limit of each single request.
        deadline: loop time at which all of it must be done.
        everything: asks for all of its lists, not only for its tools.
        on_gap: as for `Conversation`.

    Raises:
        handshake.DiedOnProbe, UpstreamUnavailable; RpcError, msgspec.MsgspecError: its answers cannot be used.
    """
    offers: dict[Kind, list[bytes]] = {}
    try:
        with ExitStack() as undo:
            async with asyncio.timeout_at(deadline):
                session = await handshake.open_session(
                    peer,
                    seconds,
                    capabilities=manner.capabilities,
                    probe=manner.probes,
                    prefers_handshake=manner.handshake,
                )
                talk = Conversation(server, peer, session, link, on_gap)
                undo.callback(talk.close)
                tools, warnings = await handshake.list_tools(peer, seconds, session.dialect)
                for kind in LISTS if everything else ():
                    offers[kind], odd = await talk.try_list(kind, seconds, manner.capabilities)
                    warnings += odd
            undo.pop_all()
    except TimeoutError:
        raise UpstreamUnavailable(f"it did not finish its start within {seconds:g} s") from None
    except handshake.DiedOnProbe:
        raise
    except PeerUnavailable as gone:  # one request may break where the others have connections of their own
        why = peer.end_text() if peer.closed.is_set() else gone.message.removeprefix(f"{peer.name}: ")
        raise UpstreamUnavailable(why) from None
    return Begun(talk, tools, offers, warnings)
