"""The rules for the leading part of proxied tool names."""

from __future__ import annotations

import re

PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
RESERVED = frozenset({"stm", "mms"})


def prefix_fault(prefix: str, *, alone: bool) -> str:
    """Why `prefix` cannot be used, with the fix; empty when it can.

    Args:
        alone: it belongs to the only upstream, whose tools may keep their names.
    """
    if not prefix:
        return "" if alone else "is empty, which only a single upstream may have; give it a prefix"
    if not PREFIX.fullmatch(prefix) or "__" in prefix:
        return "must be a letter followed by letters, digits and single underscores"
    if prefix.lower() in RESERVED:
        return f"is reserved ({', '.join(sorted(RESERVED))}); choose another"
    return ""
