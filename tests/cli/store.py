"""A store as a stopped cluster leaves it."""

from __future__ import annotations

from actors.telemetry.journal import Journal
from actors.telemetry.messages import Event
from actors.telemetry.warehouse import Warehouse
from config.place import Place
from tests.actors.telemetry.events import lines
from tests.fixtures.store import empty_store


def fill(place: Place, *events: Event) -> None:
    path = place.state / "analytics.duckdb"
    if not path.exists():
        empty_store(place.state)
    journal = Journal(place.state / "events")
    journal.open()
    assert journal.append(lines(*events)) == 0
    warehouse = Warehouse(path, place.state / "loading.tmp", retention_days={})
    warehouse.load(journal.extents)
    journal.close()
