"""Summaries by an external model: who is asked, how many at once, for how long, and what is remembered.

Whatever goes wrong is a `NoSummary` with its reason; the caller then shortens by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from actors.compressor.llm_api import NoSummary, answer, body
from actors.compressor.llm_http import Http
from actors.compressor.llm_prompt import Prompt, prompt
from actors.compressor.messages import SummaryStats
from actors.compressor.recall import Recall
from actors.compressor.strategies.task import Draft, Task
from bus.breaker import Breaker
from bus.errors import ConfigError, StateError
from config.credentials import may_hold_credential
from config.llm import Endpoint, endpoint
from config.schema_upstream import LlmSettings

AT_ONCE = 4
"""Requests to models at the same time."""
MOST_RESPONSES = 12
"""Responses that may wait for summaries at the same time; the rest of the mailbox stays free for everything else."""
LEAST_SECONDS = 1.0
"""With less time than this no model is asked."""
FAIR_SECONDS = 5.0
"""A provider that had so much time, or half of its own, and did not answer, has failed."""
MAX_FAILURES = 3
RESET_SECONDS = 60.0
MOST_REMEMBERED = 256

_GRACE_SECONDS = 0.1
"""A request that ends at the deadline says itself why."""
_USELESS = ("empty", "over-long", "declined")
"""The provider works, only this answer is of no use."""

T = TypeVar("T")


class Runner(Protocol):
    """Runs work in a thread."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class Summaries:
    """Asks models, one at a time for equal questions.

    Args:
        worked: runs computing in a thread.
        stored: runs what touches `recall` in its thread.
        recall: keeps summaries beyond this process.
    """

    def __init__(self, worked: Runner, stored: Runner, recall: Recall) -> None:
        self._worked = worked
        self._stored = stored
        self._recall = recall
        self._http = Http()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._responses = 0
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self._remembered: OrderedDict[str, str] = OrderedDict()
        self._flights: dict[str, _Flight] = {}
        self._made = self._repeated = 0
        self._reasons: Counter[str] = Counter()

    async def close(self) -> None:
        """Ends what is under way."""
        for flight in list(self._flights.values()):
            flight.task.cancel()
        await asyncio.gather(*(flight.task for flight in self._flights.values()), return_exceptions=True)
        await self._http.close()

    def stats(self) -> SummaryStats:
        """What has happened since the start."""
        resting = [f"{model} at {url}" for (url, model), breaker in self._breakers.items() if breaker.state == "open"]
        return SummaryStats(
            made=self._made, repeated=self._repeated, fell_back=dict(self._reasons), resting=tuple(resting)
        )

    async def summarise(
        self, tasks: list[Task], settings: LlmSettings, seconds: float, is_secret: Callable[[Task], bool]
    ) -> list[Draft | NoSummary]:
        """A summary for each text, or why there is none.

        Args:
            seconds: for all of them together.
            is_secret: whether the raw text looks like one that carries credentials; runs in a thread.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        if self._responses >= MOST_RESPONSES:
            fault = NoSummary("busy", f"{MOST_RESPONSES} responses wait for summaries already")
            return self._counted([fault] * len(tasks))
        self._responses += 1
        try:
            found = await asyncio.gather(*(self._one(task, settings, deadline, is_secret) for task in tasks))
        finally:
            self._responses -= 1
        return self._counted(list(found))

    def _counted(self, found: list[Draft | NoSummary]) -> list[Draft | NoSummary]:
        self._reasons.update(one.reason for one in found if isinstance(one, NoSummary))
        return found

    async def _one(
        self, task: Task, settings: LlmSettings, deadline: float, is_secret: Callable[[Task], bool]
    ) -> Draft | NoSummary:
        try:
            where = endpoint(settings, os.environ)
            asked = await self._worked(lambda: _prepared(task, settings, is_secret))
            data = body(where, asked.system, asked.user, settings.max_tokens, asked.tokens)
            digest = hashlib.sha256(f"{where.provider}\0{where.url}\0".encode() + data).hexdigest()
            text = await self._known(digest)
            if text is None:
                text = await self._flown(digest, where, data, deadline, settings.llm_timeout_seconds)
            else:
                self._repeated += 1
        except ConfigError as error:
            return NoSummary("configuration", error.message)
        except NoSummary as fault:
            return fault
        if not task.budget.fits(text):
            size = f"the summary has {len(text)} characters"
            return NoSummary("over-long", f"{size}, there is room for {int(task.budget.chars)}")
        return Draft(text, _said(settings.model, asked))

    async def _known(self, digest: str) -> str | None:
        text = self._remembered.get(digest)
        if text is not None:
            self._remembered.move_to_end(digest)
            return text
        try:
            return await self._stored(lambda: self._recall.summary(digest))
        except StateError:
            return None  # asking again costs a request, and the store reports itself where it must hold originals

    async def _flown(self, digest: str, where: Endpoint, data: bytes, deadline: float, limit: float) -> str:
        """The answer of a request, shared by all who ask the same at the same time; it ends when nobody waits."""
        loop = asyncio.get_running_loop()
        if digest in self._remembered:  # another request has ended while this one looked into the store
            return self._remembered[digest]
        flight = self._flights.get(digest)
        if flight is None:
            until = min(deadline, loop.time() + limit)
            flight = _Flight(loop.create_task(self._ask(digest, where, data, until, limit)))
            flight.task.add_done_callback(lambda _: self._landed(digest, flight))
            self._flights[digest] = flight
        flight.waiting += 1
        try:
            async with asyncio.timeout_at(deadline + _GRACE_SECONDS):
                return await asyncio.shield(flight.task)
        except TimeoutError:
            raise NoSummary("timeout", f"{where.host} did not answer in the call's time") from None
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                flight.task.cancel()
                self._landed(digest, flight)

    def _landed(self, digest: str, flight: _Flight) -> None:
        """Nobody joins it any more."""
        if self._flights.get(digest) is flight:
            del self._flights[digest]
        if flight.task.done() and not flight.task.cancelled():
            flight.task.exception()  # taken note of, whether or not somebody still waits

    async def _ask(self, digest: str, where: Endpoint, data: bytes, until: float, limit: float) -> str:
        """One request, through the breaker.

        Args:
            until: the loop's time at which it ends.
            limit: seconds that the provider is meant to have.
        """
        loop = asyncio.get_running_loop()
        least = min(LEAST_SECONDS, limit / 2)
        if until - loop.time() < least:
            raise NoSummary("no time", "the call has no time left for a summary")
        try:
            async with asyncio.timeout_at(until - least):
                await self._slots.acquire()
        except TimeoutError:
            raise NoSummary("busy", f"{AT_ONCE} other requests were under way all the time") from None
        try:
            text = await self._through_breaker(where, data, until, limit)
        finally:
            self._slots.release()
        self._made += 1
        await self._remember(digest, text)
        return text

    async def _through_breaker(self, where: Endpoint, data: bytes, until: float, limit: float) -> str:
        breaker = self._breakers.setdefault((where.url, where.model), Breaker(MAX_FAILURES, RESET_SECONDS))
        if breaker.refuses:
            rest = f"{where.model} at {where.host} failed {breaker.failures} times in a row"
            following = f"next try in {breaker.wait:.0f} s" if breaker.wait else "another request is trying it"
            raise NoSummary("breaker open", f"{rest}; {following}")
        given = until - asyncio.get_running_loop().time()
        probe = breaker.begin()
        try:
            async with asyncio.timeout_at(until):
                reply = await self._http.post(where, data)
            text = answer(where.provider, reply)
        except TimeoutError:
            if given >= min(FAIR_SECONDS, limit / 2):
                breaker.failed(probe=probe)
            else:
                breaker.abandoned(probe=probe)
            raise NoSummary("timeout", f"{where.host} did not answer within {given:.1f} s") from None
        except NoSummary as fault:
            if fault.reason in _USELESS:
                breaker.succeeded()
            else:
                breaker.failed(probe=probe)
            raise
        except BaseException:
            breaker.abandoned(probe=probe)
            raise
        breaker.succeeded()
        return text

    async def _remember(self, digest: str, text: str) -> None:
        self._remembered[digest] = text
        while len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        if not await self._worked(lambda: may_hold_credential(text)):
            # A store that fails reports itself where it must hold originals; here it costs a request some day.
            with contextlib.suppress(StateError):
                await self._stored(lambda: self._recall.keep_summary(digest, text))


class _Flight:
    """A request under way and how many wait for it."""

    def __init__(self, task: asyncio.Task[str]) -> None:
        self.task = task
        self.waiting = 0


def _prepared(task: Task, settings: LlmSettings, is_secret: Callable[[Task], bool]) -> Prompt:
    """What is sent for a text.

    Raises:
        NoSummary: it, or anything around it, looks like a credential.
    """
    scan = settings.privacy_scan_enabled
    if scan and is_secret(task):
        raise NoSummary("credentials", "the text looks like one that carries credentials")
    made = prompt(task, settings)
    if scan and may_hold_credential(made.user):
        raise NoSummary("credentials", "the text or the query looks like one that carries credentials")
    return made


def _said(model: str, asked: Prompt) -> str:
    """What the note says of a summary, in characters of the source."""
    of = f"{asked.total} characters"
    return f"summary by {model} of {of if asked.sent == asked.total else f'{asked.sent} of {of}'}"
