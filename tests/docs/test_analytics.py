"""What docs/analytics.md shows can be run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import duckdb
import pytest

from actors.telemetry.messages import CallEvent, FaultEvent, FeedbackEvent, SurfacingEvent
from actors.telemetry.query import run_read_only
from cli.main import mms
from config.place import Place
from tests.cli.store import fill

PAGE = Path(__file__).parents[2] / "docs" / "analytics.md"
EVENTS = (
    CallEvent(server="git", tool="log", ok=True, strategy="truncate", original_tokens=900, delivered_tokens=100),
    CallEvent(server="git", tool="log", ok=False, error="timeout"),
    SurfacingEvent(surfacing_id="s", server="git", tool="log", memory_ids=["m"]),
    FeedbackEvent(surfacing_id="s", memory_id="m", rating="not_relevant", server="git", tool="log"),
    FaultEvent(component="surfacer", what="breaker_open"),
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.M | re.S)


@pytest.fixture
def store(place: Place) -> Iterator[Path]:
    fill(place, *EVENTS)
    yield place.state / "analytics.duckdb"


@pytest.mark.parametrize("number", range(len(blocks("sql"))))
def test_every_query_of_the_page_runs(store: Path, number: int) -> None:
    found = run_read_only(store, blocks("sql")[number])
    assert found.columns
    if "selection_by_ranker" not in blocks("sql")[number]:
        assert found.rows != b"[]"


def test_the_views_that_are_named_are_there(store: Path) -> None:
    with duckdb.connect(store, read_only=True) as connection:
        rows = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    text = PAGE.read_text("utf-8")
    assert all(f"`{name}`" in text for (name,) in rows if name != "latest_ratings")


def test_the_python_of_the_page_runs(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    exec(code.replace("~/.memtomem/bus/analytics.duckdb", str(store)), {})
    assert "800" in capsys.readouterr().out, "saved tokens"


def test_every_command_line_of_the_page_has_its_options() -> None:
    shown = re.findall(r"^(?:\$ )?mms (\w+)(.*)$", PAGE.read_text("utf-8"), flags=re.M)
    assert len(shown) > 6
    context = click.Context(mms)
    for name, rest in shown:
        command = mms.get_command(context, name)
        assert command is not None, name
        known = {spelling for option in command.params for spelling in option.opts}
        assert set(re.findall(r"(?<=\s)--?[a-z-]+", rest)) <= known, (name, rest)
