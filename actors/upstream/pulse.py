"""Whether an idle server is still there: a ping after a silence, and what its own silence means."""

from __future__ import annotations

import asyncio
import contextlib

from actors.upstream.conversation import Conversation
from bus.errors import DeadlineExceeded, PeerUnavailable
from bus.rpc import RpcError


class Pulse:
    """What is known of a server's answers to pings, over its reconnects.

    Attributes:
        heard: time of the last answer to anything else, in seconds of `time.perf_counter`.
        verdict: why a connection was given up; empty when it was not.
    """

    def __init__(self) -> None:
        self.heard = 0.0
        self.verdict = ""
        self._unanswered = 0

    async def watch(self, talk: Conversation, seconds: float) -> None:
        """Returns when the connection has ended, or is to be given up (`verdict`): the server answers nothing.

        Only an idle server is asked: one that serves a call may be unable to do two things at once. One that leaves
        the ping unanswered on two connections in a row does not know it, and is asked no more.

        Args:
            seconds: of silence before a ping, and again before it counts as unanswered.
        """
        peer, dialect = talk.peer, talk.session.dialect
        question = "server/discover" if dialect.stateless else "ping"  # the stateless era has no ping
        self.verdict = ""
        while True:
            heard = self.heard
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await peer.closed.wait()
            if peer.closed.is_set():
                return
            if not talk.idle or self.heard != heard or self._unanswered > 1:
                continue
            try:
                await peer.request(question, dialect.params(None), timeout=seconds)
            except DeadlineExceeded:
                if self.heard == heard:
                    self._unanswered += 1
                    self.verdict = f"it did not answer a ping within {seconds:g} s"
                    return
            except PeerUnavailable:
                continue  # `closed` says whether that was the end
            except RpcError:
                pass  # an answer is an answer
            self._unanswered = 0
