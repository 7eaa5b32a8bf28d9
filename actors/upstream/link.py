"""What a connection to a server needs of the clients behind it."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Link(Protocol):
    """The clients of one connection: all of them, or the one that it is dedicated to."""

    def said(self, server: str, method: str, params: bytes) -> None:
        """Takes a notification of the server other than progress; `params` is a JSON object."""
        ...

    def asked(self, server: str, method: str, params: bytes) -> asyncio.Future[bytes] | None:
        """Takes a request of the server; `None` when nobody can be asked."""
        ...

    def subscribed(self, server: str) -> set[str]:
        """The URIs of the resources whose changes somebody wants to hear of."""
        ...

    def log_level(self) -> str:
        """The least level of log messages that somebody has asked for; empty when nobody has."""
        ...
