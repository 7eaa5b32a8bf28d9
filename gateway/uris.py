"""URIs of resources, so that two servers with the same one do not collide: `PREFIX+scheme:rest`. Pure.

The scheme alone is changed, so that a client's expansion of a template, and everything relative, still fits.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.*", re.DOTALL)
_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_WITHIN = {"": "[^/?#]*", "+": ".*", "#": "(?:#.*)?", ".": "(?:\\..*)?", "/": "(?:/.*)?", ";": "(?:;.*)?"}


class Names:
    """Labels for the servers with these prefixes. Schemes know no case and no underscore, prefixes do."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        prefixes = list(prefixes)
        plain = {prefix: prefix.lower().replace("_", ".") for prefix in prefixes}
        taken = Counter(plain.values())
        self._labels = {
            prefix: label if taken[label] == 1 else f"{label}-{hashlib.sha256(prefix.encode()).hexdigest()[:6]}"
            for prefix, label in plain.items()
        }
        self._prefixes = {label: prefix for prefix, label in self._labels.items()}

    def public(self, prefix: str, uri: str) -> str:
        """The URI, or URI template, by which clients know a resource of the server; empty for one that is none."""
        if not _URI.fullmatch(uri):
            return ""
        label = self._labels.get(prefix, "")
        return f"{label}+{uri}" if label else uri

    def own(self, uri: str) -> tuple[str, str] | None:
        """The prefix and the server's own URI in a public one; `None` when there is no label in it."""
        label, plus, rest = uri.partition("+")
        prefix = self._prefixes.get(label.lower())
        return (prefix, rest) if plus and prefix else None


def matches(template: str, uri: str) -> bool:
    """Whether `uri` may be an expansion of a URI template."""
    at, pattern = 0, ""
    for found in _EXPRESSION.finditer(template):
        pattern += re.escape(template[at : found.start()]) + _WITHIN.get(found[1], ".*")
        at = found.end()
    return re.fullmatch(pattern + re.escape(template[at:]), uri, re.DOTALL) is not None
