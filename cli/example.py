"""The example of `mms init --demo`: files of the size that real ones have, and the server that shows them. Needs no
network."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bus.errors import ConfigError
from config.place import Place, private_directory

NAME = "demo"
LOG = "nightly_import.log"
LINES = 2_400
FAILURE = 1_707
"""The line of the log at which something goes wrong."""
ORDERS = 180


def folder(place: Place) -> Path:
    """Where the files lie."""
    return place.home / "demo"


def entry(place: Place) -> dict[str, Any]:
    """The example as an entry of `upstream_servers`."""
    return {
        "prefix": NAME,
        "command": sys.executable,
        "args": ["-P", "-m", "cli.demo_server", str(folder(place))],
    }


def write_files(place: Place) -> list[str]:
    """Writes the files, the same ones each time, and returns their names.

    Raises:
        ConfigError: they cannot be written.
    """
    files = {LOG: _log(), "orders.json": _orders(), "README.md": _readme()}
    private_directory(folder(place))
    try:
        for name, text in files.items():
            (folder(place) / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write the example's files in {folder(place)}: {error.strerror}") from None
    return list(files)


def next_steps() -> list[str]:
    """What to try, in order."""
    path = json.dumps({"path": LOG})
    return [
        "`mms tools demo` shows its tools, as a client sees them",
        f"`mms call demo__read_file '{path}'` reads {LINES:,} lines of a log: a part comes back, with the error in it",
        "the same call again comes from the cache; `mms stats` says what that saved",
        "`mms register --client NAME` gives the gateway to a client; then ask it why the nightly import failed",
        "`mms init` takes over the servers that your clients know; `mms remove demo` takes the example away again",
    ]


def _log() -> str:
    lines = []
    for number in range(1, LINES + 1):
        stamp = f"2026-03-01T02:{number // 60 % 60:02}:{number % 60:02}Z"
        if number == FAILURE:
            lines += [
                f"{stamp} ERROR nightly_import: batch {number}: row 88 was refused, the import stops",
                "Traceback (most recent call last):",
                '  File "/srv/ledger/nightly_import.py", line 214, in post',
                "    rate = rates[currency]",
                "KeyError: 'XTS'",
            ]
        elif number > FAILURE:
            lines.append(f"{stamp} INFO nightly_import: batch {number} skipped, the import has stopped")
        else:
            lines.append(
                f"{stamp} INFO nightly_import: batch {number} of {LINES}: {300 + number * 37 % 200} rows posted"
            )
    lines.append(f"{FAILURE - 1} of {LINES} batches posted, 1 failed, {LINES - FAILURE} skipped; exit code 1")
    return "\n".join(lines) + "\n"


def _orders() -> str:
    orders = [
        {
            "id": 9_007_199_254_740_000 + number,
            "customer": f"customer {number * 13 % 47}",
            "currency": "XTS" if number == 88 else "EUR",
            "total": f"{number * 7919 % 100_000 / 100:.2f}",
            "lines": [{"sku": f"A{number * 31 % 97:03}", "quantity": number % 5 + 1}],
        }
        for number in range(1, ORDERS + 1)
    ]
    return json.dumps({"orders": orders, "total": ORDERS}, indent=2) + "\n"


def _readme() -> str:
    return (
        "# Example files\n\n"
        f"`{LOG}` is the log of an import that stopped, `orders.json` what it was importing.\n"
        "Ask your assistant why it stopped and which order is to blame.\n"
    )
