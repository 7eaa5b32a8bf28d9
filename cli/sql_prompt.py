"""The prompt of `mms sql`: statements over several lines, a history, completion of tables, columns and keywords."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from bus.errors import BusError
from cli.analytics import query
from cli.output import Failure, talk, write
from cli.sql_output import notes, rendered
from config.credentials import is_credential
from config.place import Place

_WORDS = """
select from where group by order having limit offset distinct as and or not in is null like ilike between case when then
else end join left right full inner on using union all except intersect with asc desc describe show tables summarize
explain count sum avg min max round filter over partition interval cast quantile_cont date_trunc strftime now
"""
KEYWORDS = tuple(_WORDS.split())
HISTORY_LINES = 1_000
_NAMES = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal \
UNION SELECT column_name FROM duckdb_columns() WHERE NOT internal"


def prompt(place: Place, shape: str, max_rows: int, timeout_seconds: float) -> None:
    """Statements from a terminal, each up to a semicolon, until the end of input."""
    remember = _with_editing(place)
    talk("Read-only SQL; a statement ends with ';', Ctrl-D leaves. SHOW TABLES; lists the tables.")
    lines: list[str] = []
    while True:
        try:
            lines.append(input("...> " if lines else "sql> "))
            remember(lines[-1])
        except EOFError:
            sys.stdout.write("\n")
            return
        except KeyboardInterrupt:
            lines.clear()
            sys.stdout.write("\n")
            continue
        except UnicodeDecodeError:
            lines.clear()
            talk("Error: what was typed is not UTF-8; begin the statement again")
            continue
        statement = "\n".join(lines).strip()
        if not statement.rstrip(";").strip():
            lines.clear()
        elif statement.endswith(";"):
            lines.clear()
            _run(place, statement, shape, max_rows, timeout_seconds)


def _run(place: Place, statement: str, shape: str, max_rows: int, timeout_seconds: float) -> None:
    try:
        found = query(place, statement, max_rows, timeout_seconds)
    except (BusError, Failure) as error:
        talk(f"Error: {error.message}")
        return
    except KeyboardInterrupt:
        talk("Interrupted.")
        return
    write(rendered(found, shape))
    said = notes(found, max_rows)
    if said:
        talk(said)


def _with_editing(place: Place) -> Callable[[str], None]:
    """Line editing, completion, and the history of earlier prompts, as far as this Python has them.

    Returns:
        What takes a line into the history.
    """
    history = History(place.state / "sql_history")
    try:
        import readline
    except ImportError:
        return lambda line: None
    for line in history.lines():
        readline.add_history(line)
    readline.set_auto_history(False)
    readline.set_completer_delims(" \t\n,;()=<>+-*/'\"")
    readline.set_completer(Completer(lambda: _names(place)))
    readline.parse_and_bind("tab: complete")

    def remember(line: str) -> None:
        if line.strip() and history.add(line):
            readline.add_history(line)

    return remember


def _names(place: Place) -> list[str]:
    try:
        rows = msgspec.json.decode(query(place, _NAMES, 10_000).rows.data, type=list[list[str]])
    except (BusError, Failure):
        return []
    return [name for (name,) in rows if not name.startswith("_")]


class Completer:
    """What readline asks for completions; keywords follow the case in which they were begun.

    Args:
        names: finds tables and columns; asked once, when the first completion is wanted.
    """

    def __init__(self, names: Callable[[], list[str]]) -> None:
        self._find = names
        self._names: list[str] | None = None

    def __call__(self, begun: str, number: int) -> str | None:
        found = self.matches(begun)
        return found[number] if number < len(found) else None

    def matches(self, begun: str) -> list[str]:
        if self._names is None:
            self._names = sorted(self._find())
        folded = begun.casefold()
        keywords = (word.upper() if begun[:1].isupper() else word for word in KEYWORDS)
        words = [*self._names, *keywords]
        return list(dict.fromkeys(word for word in words if word.casefold().startswith(folded)))


class History:
    """Lines of earlier prompts, 0600, bounded; a line that looks like a credential is not kept.

    A history that cannot be read or written costs the history and nothing else.
    """

    def __init__(self, path: Path, limit: int = HISTORY_LINES) -> None:
        self.path = path
        self._limit = limit

    def lines(self) -> list[str]:
        with contextlib.suppress(OSError):
            return self.path.read_text("utf-8", errors="replace").splitlines()[-self._limit :]
        return []

    def add(self, line: str) -> bool:
        """Keeps a line; returns whether it may be kept."""
        if is_credential(line):
            return False
        kept = [*self.lines(), line]
        with contextlib.suppress(OSError):
            if len(kept) > self._limit:
                aside = self.path.with_name(f"{self.path.name}.tmp")
                _write(aside, "\n".join(kept[-self._limit :]) + "\n", os.O_TRUNC)
                aside.replace(self.path)
            else:
                _write(self.path, line + "\n", os.O_APPEND)
        return True


def _write(path: Path, text: str, how: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o600)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace") as out:
        out.write(text)
