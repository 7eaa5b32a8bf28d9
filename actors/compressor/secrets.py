"""Whether a text looks like it carries a credential. Such a text is never written to disk.

One alternation for google-re2: linear in the text whatever it holds, about 5 ms a megabyte.
"""

from __future__ import annotations

import re2  # type: ignore[import-untyped]

_PATTERNS = (
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{36,}\b",
    r"\bgithub_pat_[A-Za-z0-9_]{36,}\b",
    r"\bglpat-[A-Za-z0-9_\-]{20,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"hooks\.slack\.com/services/[A-Za-z0-9/+]{40,}",
    r"\bsk-(?:ant-|proj-|live-)?[A-Za-z0-9_\-]{20,}",
    r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"\bwhsec_[A-Za-z0-9]{24,}",
    r"\bAIza[A-Za-z0-9_\-]{35}",
    r"\bya29\.[A-Za-z0-9_\-]{20,}",
    r"\bnpm_[A-Za-z0-9]{36}\b",
    r"\bpypi-[A-Za-z0-9_\-]{50,}",
    r"\bhf_[A-Za-z0-9]{30,}\b",
    r"\bdop_v1_[a-f0-9]{64}\b",
    r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{8,}",
    r"://[^\s/:@\"'<>]+:[^\s/@\"'<>]{3,}@[^\s/\"'<>]",
    # A name that means a secret, a sign of assignment, a value that is no placeholder; JSON in JSON escapes quotes.
    r"(?i:(?:passw(?:or)?d|passphrase|secret|api_?-?key|apikey|access_?-?key|private_?-?key|auth_?-?token|access_?-?token"
    r"|refresh_?-?token|bearer_?-?token|client_?-?secret|credentials?))[\\\"']*\s?(?:=|:|=>|:=)\s?[\\\"']*[^\s\\\"'<>{}\[\]$%,;()*]{6,}",
    r"(?i:\bauthorization[\\\"']*\s?[:=]\s?[\\\"']*(?:bearer|basic|token)\s+[A-Za-z0-9+/._\-=]{8,})",
)
_options = re2.Options()
_options.max_mem = 64 << 20
_CREDENTIAL = re2.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), _options)


def looks_like_credential(text: str) -> bool:
    """Whether any part of the text has the form of a key, a token, a password assignment or a URL with a password."""
    return _CREDENTIAL.search(text.encode("utf-8", "replace").decode()) is not None
