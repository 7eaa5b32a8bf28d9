"""Keeps the store in step with the record, whatever state the store is in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from actors.telemetry.database import StoreDamaged, StoreHeld
from actors.telemetry.journal import Journal
from actors.telemetry.messages import FaultEvent
from actors.telemetry.warehouse import Progress, Warehouse, unread_lines
from bus.errors import NewerState, StateError

REPLACE_EVERY_SECONDS = 600.0
"""A store that is damaged again sooner is not set aside again: the disk would fill with copies."""

T = TypeVar("T")


class Keeper:
    """Loads, heals and reads the store. Blocking; for one thread at a time, apart from the attributes and `pending`.

    Attributes:
        store: `ready`, `held` (another process has it open), `newer` (a newer version wrote it) or `failed`.
        store_error: why it is not ready, or what was last repaired; one line.
        loaded: events loaded since the start.
        unreadable: lines of the record that turned out to be no events: torn by a crash, or edited.
        faults: what happened to the store and is not in the record yet.
    """

    def __init__(self, journal: Journal, warehouse: Warehouse) -> None:
        self._journal = journal
        self._warehouse = warehouse
        # Until the store has told how far it is, the events of earlier runs are taken as loaded.
        self._offsets = {extent.number: extent.size for extent in journal.extents}
        self._known = False
        self._next_replacement = 0.0
        self.store = "ready"
        self.store_error = ""
        self.loaded = 0
        self.unreadable = 0
        self.faults: list[FaultEvent] = []

    @property
    def behind(self) -> bool:
        """Whether something waits to be loaded."""
        return not self._known or any(
            self._offsets.get(extent.number, 0) < extent.size for extent in self._journal.extents
        )

    def pending(self) -> int:
        """Events in the record that are not in the store; reads the unread part of the record."""
        return unread_lines(self._journal.extents, self._offsets)

    def load(self) -> None:
        """Brings the store up to date if it can be; `store` says whether it could. Never raises."""
        if not self.behind:
            return
        try:
            self._take(self._load())
        except StoreHeld as error:
            self.store, self.store_error = "held", error.message
        except NewerState as error:
            self.store, self.store_error = "newer", error.message
        except StateError as error:
            self.store, self.store_error = "failed", error.message

    def read(self, work: Callable[[], T]) -> T:
        """What `work` finds in the store; a store that turns out to be damaged is rebuilt first.

        Raises:
            StateError: the store cannot be read now; and what `work` raises.
        """
        try:
            try:
                return work()
            except StoreDamaged as damage:
                self._replace(damage)
            self.load()
            return work()
        except (StoreHeld, StoreDamaged) as error:
            raise StateError(error.message) from None  # callers on the bus know no finer codes

    def _load(self) -> Progress:
        try:
            return self._warehouse.load(self._journal.extents)
        except StoreDamaged as damage:
            self._replace(damage)
        return self._warehouse.load(self._journal.extents)

    def _take(self, progress: Progress) -> None:
        self._offsets = progress.offsets
        self._known = True
        self.loaded += progress.rows
        self.unreadable += progress.unreadable
        if self.store != "ready":
            self.store, self.store_error = "ready", ""
        self._journal.note_loaded(progress.offsets)

    def _replace(self, damage: StoreDamaged) -> None:
        if time.monotonic() < self._next_replacement:
            raise StateError(
                f"{damage.message}; it was rebuilt only just now, so something else is wrong: check the disk"
            )
        self._next_replacement = time.monotonic() + REPLACE_EVERY_SECONDS
        try:
            aside = self._warehouse.set_aside()
        except OSError as error:
            raise StateError(f"{damage.message}, and cannot be set aside: {error.strerror}") from None
        self._offsets, self._known = {}, False
        self._journal.note_loaded({})
        self.store_error = f"{damage.message}; it was kept as {aside.name} and rebuilt from the event log"
        self.faults.append(FaultEvent(component="telemetry", what="store_set_aside", detail=self.store_error))
