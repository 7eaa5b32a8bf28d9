"""The rule for addresses of HTTP servers."""

from __future__ import annotations

import urllib.parse


def address_fault(url: str) -> str:
    """Why `url` cannot be the address of an MCP server, with the fix; empty when it can. Never the address itself.

    An address with a `${VAR}` in it is judged when it is expanded, not here.
    """
    if "${" in url:
        return ""
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if usable and not any(character.isspace() for character in url):
        return ""
    return "is no address; write it as https://HOST/PATH"
