"""Structured logs: one JSON object a line, one file per process kind, rotated by size, 0600.

structlog is imported at the first line written: a gateway that has nothing to say starts without it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

MAX_BYTES = 2 * 1024 * 1024
BACKUPS = 3
LEVELS = ("debug", "info", "warning", "error", "critical")


class Log:
    """Writes events to `<directory>/<name>.log`; without a directory to nowhere.

    Args:
        level: the least severe level that is written, in any case; nothing of ours is `critical`.

    Attributes:
        level: may be changed at any time.
    """

    def __init__(self, name: str, directory: Path | None, level: str = "info") -> None:
        self._name = name
        self._directory = directory
        self.level = level
        self._logger: Any = None

    def debug(self, event: str, **fields: Any) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if self._directory is None or LEVELS.index(level) < LEVELS.index(self.level.lower()):
            return
        if self._logger is None:
            self._logger = _open(self._name, self._directory)
        getattr(self._logger, level)(event, **fields)


def _open(name: str, directory: Path) -> Any:
    import logging
    from logging.handlers import RotatingFileHandler

    import structlog

    class PrivateFile(RotatingFileHandler):
        has_failed = False

        def _open(self) -> Any:
            return open(
                os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600),
                "a",
                encoding="utf-8",
                errors="backslashreplace",
            )

        def handleError(self, record: logging.LogRecord) -> None:
            """A line that cannot be written is lost; that is said once, and not with the library's traceback."""
            error = sys.exc_info()[1]
            if not isinstance(error, OSError):
                super().handleError(record)
            elif not self.has_failed:
                self.has_failed = True
                with contextlib.suppress(OSError):
                    print(f"the log {self.baseFilename} cannot be written: {error.strerror}", file=sys.stderr)

    # Opened with the first line, where a failure is the handler's own affair and not of whoever logs.
    handler = PrivateFile(directory / f"{name}.log", maxBytes=MAX_BYTES, backupCount=BACKUPS, delay=True)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger(f"mms.{name}")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    return structlog.wrap_logger(
        logger,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        process=os.getpid(),
    )
