"""What looks like a credential: the one place that knows. Pure.

Two questions, two answers. `mask` and `is_credential` are for short texts that people read (queries, memories,
reports): precise, so that talk about passwords stays readable. `may_hold_credential` is for large texts before they are
stored: broad, since a false alarm only keeps a text off the disk, and linear whatever the text holds (google-re2).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

MASK = "[masked]"

TOKENS = (
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,255}",
    r"\bgithub_pat_[A-Za-z0-9_]{22,255}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\bxapp-\d-[A-Z0-9]+-\d+-[a-f0-9]+",
    r"hooks\.slack\.com/services/[A-Za-z0-9/+]{40,}",
    r"\bsk-(?:ant-|proj-|or-|svcacct-|live-)?[A-Za-z0-9_-]{20,}",
    r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"\bwhsec_[A-Za-z0-9]{24,}",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[A-Za-z0-9_-]{50,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"\bdop_v1_[a-f0-9]{64}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
)
"""Formats that say by themselves what they are, in the syntax that `re` and RE2 share."""

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[A-Za-z0-9+/=\s\\]{0,8000}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z))?"
)
_TOKEN = re.compile("|".join(TOKENS))
_TOKEN_HINTS = (
    "AKIA", "ASIA", "ABIA", "ACCA", "gh", "glpat", "xox", "xapp", "slack", "sk-", "k_", "whsec", "AIza", "ya29",
    "npm_", "pypi-", "hf_", "SG.", "dop_", "eyJ",
)  # fmt: skip
_HEADER = re.compile(r"\b(Bearer|Basic|Token)\s+([A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^\s/@:]{0,256}:[^\s/@]{1,256}@")
_NAMED = re.compile(
    r"""(?P<name>(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token
    |access[_-]?token|refresh[_-]?token|credentials?|비밀번호|パスワード|密码)[\w-]{0,32}["']?)
    (?P<between>\s{0,4}(?:[:=]|=>|:=|\s은|\s는|\sis)\s{0,4})
    (?P<value>"[^"\n]{4,512}"|'[^'\n]{4,512}'|[^\s"',;<>(){}\[\]]{6,512})""",
    re.IGNORECASE | re.VERBOSE,
)
_NAME_HINTS = ("pass", "secret", "key", "token", "credential", "비밀번호", "パスワード", "密码")
_PLACEHOLDER = re.compile(
    r"^[\"']?(?:\$|<|\{|%|\*{3}|x{4}|\.{3}|…|your[-_ ]|example|changeme|none|null|true|false|env\b)", re.I
)


def is_credential(text: str) -> bool:
    """True when some part of `text` reads as a secret value (a token, a key, a password assignment, URL userinfo)."""
    return mask(text) != text


def mask(text: str) -> str:
    """`text` with each secret value replaced by `[masked]`; names, schemes and hosts stay readable."""
    if "-----BEGIN" in text:
        text = _PRIVATE_KEY.sub(MASK, text)
    if any(hint in text for hint in _TOKEN_HINTS):
        text = _TOKEN.sub(MASK, text)
    if "://" in text:
        text = _USERINFO.sub(MASK + "@", text)
    lowered = text.casefold()
    if "bearer" in lowered or "basic" in lowered or "token" in lowered:
        text = _HEADER.sub(lambda m: f"{m[1]} {MASK}" if _is_opaque(m[2]) else m[0], text)
    if any(hint in lowered for hint in _NAME_HINTS):
        text = _NAMED.sub(_masked_value, text)
    return text


def _masked_value(match: re.Match[str]) -> str:
    value = match["value"]
    bare = value.strip("\"'")
    quoted = bare != value
    is_word_answer = match["between"].strip() in ("is", "은", "는") or ":" in match["between"]
    if bare == MASK or _PLACEHOLDER.match(value) or (is_word_answer and not quoted and not _is_opaque(bare)):
        return match[0]
    return f"{match['name']}{match['between']}{MASK}"


def _is_opaque(value: str) -> bool:
    """Not a word of prose: `password: required` stays, `password: hunter2` does not."""
    return any(c.isdigit() for c in value) or not value.isalpha() or (value.lower() != value and not value.istitle())


_BROAD = (
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    r"://[^\s/:@\"'<>]+:[^\s/@\"'<>]{3,}@[^\s/\"'<>]",
    # A name that means a secret, a sign of assignment, a value that is no placeholder; JSON in JSON escapes quotes.
    r"(?i:(?:passw(?:or)?d|passphrase|secret|api_?-?key|access_?-?key|private_?-?key|auth_?-?token|access_?-?token"
    r"|refresh_?-?token|bearer_?-?token|client_?-?secret|credentials?)"
    r"[\\\"']*\s?(?:=|:|=>|:=)\s?[\\\"']*[^\s\\\"'<>{}\[\]$%,;()*]{6,})",
    r"(?i:\bauthorization[\\\"']*\s?[:=]\s?[\\\"']*(?:bearer|basic|token)\s+[A-Za-z0-9+/._\-=]{8,})",
)
_BROAD_MEMORY = 64 << 20


def may_hold_credential(text: str) -> bool:
    """Whether any part of a text of any size has the form of a key, a token, a password assignment or a URL with a
    password; about 5 ms a megabyte."""
    return _broad().search(text.encode("utf-8", "replace").decode()) is not None


@cache
def _broad() -> Any:
    import re2

    options = re2.Options()
    options.max_mem = _BROAD_MEMORY
    return re2.compile("|".join(f"(?:{pattern})" for pattern in (*TOKENS, *_BROAD)), options)
