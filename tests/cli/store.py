"""A store as a stopped cluster leaves it."""

from __future__ import annotations

from actors.telemetry.journal import Journal
from actors.telemetry.messages import Event
from actors.telemetry.warehouse import Warehouse
from config.place import Place
from tests.actors.telemetry.events import lines


def fill(place: Place, *events: Event) -> None:
    journal = Journal(place.state / "events")
    journal.open()
    assert journal.append(lines(*events)) == 0
    warehouse = Warehouse(place.state / "analytics.duckdb", place.state / "loading.tmp", retention_days={})
    warehouse.load(journal.extents)
    journal.close()
