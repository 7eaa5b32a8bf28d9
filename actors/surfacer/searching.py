"""Searches of the LTM: one a question at a time, bounded, judged by the breaker, remembered for a minute.

A search belongs to whoever waits for it: when the last of them is cancelled, so is the search. When one only runs out
of patience, the search goes on to its own end: that end says whether the LTM works, and its result serves the next
call with the same question.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from actors.surfacer.cache import Cached, Key, ResultCache
from actors.surfacer.ltm import Ltm
from actors.surfacer.patience import Patience
from bus.breaker import Breaker
from bus.errors import BusError, Busy, DeadlineExceeded
from bus.tasks import end
from config.schema_surfacing import SurfacingSettings


class Search:
    """One search under way, or over.

    Attributes:
        task: what searches.
        is_taken_back: nobody waits for it any more; it is being cancelled.
    """

    def __init__(self, task: asyncio.Task[Cached]) -> None:
        self.task = task
        self._waiting = 0
        self._goes_on = False
        self.is_taken_back = False

    async def result(self, patience: float | None) -> Cached:
        """What was found.

        Args:
            patience: seconds to wait at most; `None` = until the search ends by itself.

        Raises:
            DeadlineExceeded: not in time. BusError: the search failed.
        """
        self._waiting += 1
        try:
            async with asyncio.timeout(patience):
                return await asyncio.shield(self.task)
        except TimeoutError:
            self._goes_on = True
            raise DeadlineExceeded(f"no answer of the LTM within {patience:g} s") from None
        finally:
            self._waiting -= 1
            if not self._waiting and not self._goes_on:
                self.is_taken_back = True
                self.task.cancel()


class Searches:
    """The searches of a surfacer.

    Args:
        on_breaker_open: called when the breaker opens.
        clock: monotonic seconds.

    Attributes:
        ltm: the present connection; `None` while surfacing is off.
        patience: how long a response waits for one.
        attempts / faults: searches that reached the LTM and say something about it, and those of them that failed;
            cancelled ones and those that met a busy LTM are left out.
        hints / last_hints: warnings that came with its answers, and with the last one.
    """

    def __init__(
        self,
        settings: SurfacingSettings,
        *,
        on_breaker_open: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.ltm: Ltm | None = None
        self.breaker = Breaker(settings.circuit_max_failures, settings.circuit_reset_seconds, clock)
        self.cache = ResultCache(clock)
        self.patience = Patience()
        self.attempts = 0
        self.faults = 0
        self.hints = 0
        self.last_hints = 0
        self._on_breaker_open = on_breaker_open
        self._clock = clock
        self._running: dict[Key, Search] = {}

    def configure(self, settings: SurfacingSettings) -> None:
        """Takes over changed settings; breaker state and cached results stay."""
        self.settings = settings
        self.breaker.max_failures = settings.circuit_max_failures
        self.breaker.reset_seconds = settings.circuit_reset_seconds

    async def close(self) -> None:
        await end([search.task for search in self._running.values()])

    @property
    def count(self) -> int:
        """Searches under way."""
        return len(self._running)

    def running(self, key: Key) -> Search | None:
        """The search for the same question that is under way."""
        found = self._running.get(key)
        return None if found is None or found.is_taken_back else found

    def refusal(self) -> str:
        """Why no search may begin now; empty when one may."""
        if self.breaker.refuses:
            return "circuit_open"
        return "" if self.ltm is not None and self.ltm.is_ready else "ltm_unavailable"

    def begin(self, key: Key, text: str) -> Search:
        """Starts a search, which `refusal` must have allowed; it takes `timeout_seconds` at most."""
        assert self.ltm is not None, "without an LTM every search is refused"
        probe = self.breaker.begin()  # not in the task: two that begin in one turn would both be the probe
        search = Search(asyncio.create_task(self._search(self.ltm, key, text), name="ltm-search"))
        self._running[key] = search

        def over(done: asyncio.Task[Cached]) -> None:
            if self._running.get(key) is search:
                del self._running[key]
            self._judge(None if done.cancelled() else done.exception(), probe, was_cancelled=done.cancelled())

        search.task.add_done_callback(over)  # before anybody can wait for it, so that those find it judged
        return search

    async def _search(self, ltm: Ltm, key: Key, text: str) -> Cached:
        settings, started = self.settings, self._clock()
        found = await ltm.search(
            text,
            timeout=settings.timeout_seconds,
            namespace=key[1],
            style=settings.result_format,
            context_window=settings.context_window_size,
            rerank=None if settings.rerank == "none" else bool(settings.rerank),
            session_context=settings.include_session_context,
        )
        self.patience.note(self._clock() - started)
        self.last_hints = len(found.hints)
        self.hints += self.last_hints
        return self.cache.put(key, found, settings.cache_ttl_seconds)

    def _judge(self, error: BaseException | None, probe: bool, *, was_cancelled: bool) -> None:
        """What the end of a search says about the LTM."""
        if was_cancelled or isinstance(error, Busy) or not (error is None or isinstance(error, BusError)):
            self.breaker.abandoned(probe=probe)  # a busy LTM is no failure, and a cancelled search proves nothing
            return
        self.attempts += 1
        if error is None:
            self.breaker.succeeded()
            return
        self.faults += 1
        if self.breaker.failed(probe=probe):
            self._on_breaker_open()
