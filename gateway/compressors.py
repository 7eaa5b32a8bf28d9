"""The replicas of the compressor as one: who shortens a response, and who has the original behind a key."""

from __future__ import annotations

import time

from actors.compressor.messages import Compress, Compressed, Page, ReadMore, SelectChunks
from bus.errors import PeerRestarted, PeerUnavailable
from bus.message import Blob
from bus.replicas import ranked, replicas
from gateway.parts import Parts

FIRST_CONNECT_SECONDS = 1.0
"""How long a large response waits for a compressor that is still starting."""
NEXT_REPLICA_SECONDS = 0.25
"""How long one replica is waited for while there are others."""
READ_CONNECT_SECONDS = 2.0
"""How long a reader waits for a compressor: as long as a restart takes."""
MOST_LOST = 2
"""A text on which so many replicas have died is not given to the next one."""
_SAMPLE = 65_536


class Compressors:
    """Asks the replica that a content belongs to, and the others where that one is not there."""

    def __init__(self, parts: Parts) -> None:
        self.names = replicas(Compress.actor, 1)
        self._parts = parts

    def use(self, count: int) -> None:
        """Takes over how many replicas there are, from the next call on."""
        self.names = replicas(Compress.actor, count)

    async def former(self) -> list[str]:
        """The replicas that the configuration has less and the cluster still runs."""
        return [name for name in await self._parts.replicas_of(Compress.actor) if name not in self.names]

    async def compress(self, request: Compress, timeout: float) -> Compressed:
        """Shortens a response.

        Raises:
            BusError: as `Bus.ask`; `PeerUnavailable` when no replica is there.
        """
        order = ranked(_sample(request.texts or tuple(filter(None, [request.structured]))), self.names)
        deadline = time.monotonic() + timeout
        lost = 0
        while True:
            name = order.pop(0)
            try:
                return await self._parts.ask(
                    request,
                    timeout=deadline - time.monotonic(),
                    wait=NEXT_REPLICA_SECONDS if order else FIRST_CONNECT_SECONDS,
                    trace_id=request.trace_id,
                    actor=name,
                    repeat=len(self.names) == 1,
                )
            except PeerUnavailable as error:
                lost += isinstance(error, PeerRestarted)
                if not order or lost >= MOST_LOST:
                    raise

    async def page(self, request: ReadMore | SelectChunks, timeout: float) -> Page:
        """An answer of a follow-up tool. Each replica finds what any of them has on disk; what looks like a credential
        is in the memory of one, which may be one that the configuration has less and the cluster still runs.

        Raises:
            BusError: as `Bus.ask`; `PeerUnavailable` when no replica is there.
        """
        order = ranked(request.key.encode("utf-8", "surrogatepass"), self.names)
        order.sort(key=lambda name: not self._parts.is_connected(name))
        order += await self.former()
        deadline = time.monotonic() + timeout
        unknown: Page | None = None
        missed: PeerUnavailable | None = None
        for name in order:
            try:
                page = await self._parts.ask(
                    request,
                    timeout=deadline - time.monotonic(),
                    wait=READ_CONNECT_SECONDS,
                    trace_id="",
                    actor=name,
                )
            except PeerUnavailable as error:
                missed = error
                continue
            if not page.is_unknown:
                return page
            unknown = page
        if unknown is not None:
            return unknown
        assert missed is not None, "there is always a first replica"
        raise missed


def _sample(texts: tuple[Blob, ...]) -> bytes:
    """What a response is known by: sizes, beginnings and ends; to hash all of a large one would hold up other calls."""
    return b"".join(b"%d:" % len(text) + text.data[:_SAMPLE] + text.data[-_SAMPLE:] for text in texts)
