"""Hides secret values for display; names and shapes stay visible.

Always hidden: values of `env` and headers, user information and token-like query parameters of URLs, values of
credential-like keys and arguments, texts in a well-known token format. References such as `${TOKEN}` are no secrets and
stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from config.credentials import TOKENS

MASK = "***"
SECRET_MAPS = frozenset({"env", "headers", "http_headers", "ltm_mcp_headers"})

_NAME = re.compile(
    r"api[-_.]?key|access[-_.]?key|private[-_.]?key|secret"
    r"|token(?!s|[-_.](?:estimation|count|budget|limit|length|usage))|passw(?:or)?d|passphrase|\bpwd\b|credential"
    r"|authorization|\bauth\b|bearer|cookie|signature|\bsig\b|\bkey\b|\bdsn\b|connection[-_.]?string",
    re.IGNORECASE,
)
_FORMAT = re.compile("|".join(TOKENS))
_BEARER = re.compile(r"\b(bearer|basic)\s+(?!\$\{)[^\s\"',;]+", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^/?#\s@]*(?:@[^/?#\s@]*)*@")
_QUERY = re.compile(r"(?<=[?&;#])([^=&;#\s]+)=([^&;#\s]*)")
_REFERENCE = re.compile(r"(?:(?:bearer|basic|token)\s+)?\$\{[A-Za-z_][A-Za-z0-9_]*\}", re.IGNORECASE)
_DEFAULT = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*:-)[^}]*\}")
_ASSIGNMENT = re.compile(r"(-{0,2}[\w.-]+)(=|:\s*)(.+)", re.DOTALL)
_JSON_PAIR = re.compile(r'("([^"\\]+)"\s*:\s*)"((?:[^"\\]|\\.)*)"')
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")


def is_secret_name(name: str) -> bool:
    """Whether a key, flag, header or parameter is named as credentials are."""
    # Word boundaries shall see the words of snake_case and camelCase.
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", name)
    return _NAME.search(spaced) is not None


def mask_value(text: str) -> str:
    """A value that counts as secret: hidden, apart from references to variables."""
    if _REFERENCE.fullmatch(text) or not text:
        return text
    if default := _DEFAULT.fullmatch(text):
        return f"{default[1]}{MASK}}}"
    return MASK


def mask_text(text: str) -> str:
    """Any text: the parts of it that look like credentials are hidden."""
    text = _USERINFO.sub(lambda match: f"{mask_value(match[0][:-1])}@", text)
    text = _QUERY.sub(lambda m: f"{m[1]}={mask_value(m[2])}" if is_secret_name(m[1]) else m[0], text)
    text = _JSON_PAIR.sub(lambda m: f'{m[1]}"{mask_value(m[3])}"' if is_secret_name(m[2]) else m[0], text)
    text = _BEARER.sub(lambda match: f"{match[1]} {MASK}", text)
    return _FORMAT.sub(MASK, text)


def mask_args(args: Iterable[str]) -> list[str]:
    """Arguments of a command: `--api-key=V`, `--token V`, `-e TOKEN=V`, `Authorization: V`, URLs, known formats."""
    masked: list[str] = []
    value_follows = False
    for word in args:
        flag = _FLAG.fullmatch(word) is not None
        masked.append(mask_value(word) if value_follows and not flag else _mask_word(word))
        value_follows = flag and is_secret_name(word)
    return masked


def _mask_word(word: str) -> str:
    assignment = _ASSIGNMENT.fullmatch(word)
    if assignment is None or word[assignment.end(1) :].startswith("://"):
        return mask_text(word)
    name, sign, value = assignment.groups()
    return f"{name}{sign}{mask_value(value) if is_secret_name(name) else _mask_word(value)}"


def mask_mapping(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Values of `env` or headers, all of them."""
    return {name: mask_value(v) if isinstance(v, str) else MASK for name, v in mapping.items()}


def mask_document(value: Any, key: str = "") -> Any:
    """A settings document, or a part of it that stands under `key`."""
    if isinstance(value, Mapping):
        if key in SECRET_MAPS:
            return mask_mapping(value)
        return {name: mask_document(item, name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        texts = all(isinstance(item, str) for item in value)
        return mask_args(value) if texts else [mask_document(item, key) for item in value]
    if isinstance(value, str):
        return mask_value(value) if is_secret_name(key) else mask_text(value)
    return value
