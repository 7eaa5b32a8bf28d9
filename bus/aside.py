"""Damaged files are kept under another name, one form for every store: `recall.db.damaged-20261130T120000.123456Z`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

MARK = ".damaged-"
MOST_KEPT = 3
"""Of one store; older ones are removed, so that a disk that damages files is not filled with them."""
_COMPANIONS = ("", "-wal", "-shm", ".wal")
"""What SQLite and DuckDB write beside a file."""


def move_aside(path: Path, now: datetime | None = None) -> Path:
    """Renames a damaged file, and what its database has written beside it, and keeps it private.

    Args:
        now: UTC.

    Returns:
        The new name.

    Raises:
        OSError: it cannot be renamed.
    """
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = path.with_name(f"{path.name}{MARK}{stamp}")
    for suffix in _COMPANIONS:
        found = Path(f"{path}{suffix}")
        if found.exists():
            found.chmod(0o600)
            found.rename(f"{aside}{suffix}")
    for old in aside_of(path)[:-MOST_KEPT]:
        for suffix in _COMPANIONS:
            Path(f"{old}{suffix}").unlink(missing_ok=True)
    return aside


def all_aside(directory: Path) -> list[Path]:
    """Every file of a directory that was moved aside, without what stands beside it."""
    return sorted(path for path in directory.glob(f"*{MARK}*") if path.name.endswith("Z"))


def aside_of(path: Path) -> list[Path]:
    """What was moved aside of one file, the oldest first."""
    return [found for found in all_aside(path.parent) if found.name.startswith(f"{path.name}{MARK}")]
