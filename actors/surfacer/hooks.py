"""What hooks need of the surfacer beside memories: a brief of the configuration, and a lease on the cluster. A hook
lives for a moment, so it has neither."""

from __future__ import annotations

import time
from contextlib import suppress

from bus.actor import Actor
from bus.errors import BusError
from bus.files import write_private
from bus.lock import owner_of
from bus.supervision import Touch
from config import hook_brief
from config.place import Place
from config.schema import Settings

TOUCH_SECONDS = 1.0
"""The lease is renewed at most so often."""
ANSWER_SECONDS = 5.0


class Hooks:
    """Looks after hooks on behalf of an actor."""

    def __init__(self, actor: Actor, place: Place) -> None:
        self._actor = actor
        self._locks = place.locks
        self._touched = 0.0

    def tell(self, settings: Settings) -> None:
        """Writes the brief; blocks on the disk for a moment. Without it hooks read the whole configuration, which takes
        them longer."""
        path = self._locks / hook_brief.FILE
        try:
            write_private(path, hook_brief.dump(hook_brief.brief_of(settings)))
        except OSError as error:
            self._actor.log.warning("hook_brief_not_written", error=error.strerror)
            with suppress(OSError):  # an old one would mislead
                path.unlink()

    def renew_lease(self) -> None:
        """Keeps a background cluster, as a gateway does for as long as it lives. Does not wait."""
        now = time.monotonic()
        if now - self._touched >= TOUCH_SECONDS and owner_of(self._locks / "supervisor.lock"):
            self._touched = now
            self._actor.spawn(self._touch(), name="renew-lease")

    async def _touch(self) -> None:
        with suppress(BusError):  # the next hook tries again
            await self._actor.bus.tell(Touch(), timeout=ANSWER_SECONDS)
