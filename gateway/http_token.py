"""The bearer token of the gateway behind HTTP: from the environment, or a file that is written once."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from bus.errors import ConfigError
from config.environment import TOKEN_VARIABLE

MIN_CHARS = 16


def http_token(file: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """The token, and where it is from in words for people.

    Raises:
        ConfigError: the token is too short to protect anything, or the file cannot be used.
    """
    given = env.get(TOKEN_VARIABLE, "").strip()
    if given:
        return _checked(given, TOKEN_VARIABLE), f"the value of {TOKEN_VARIABLE}"
    try:
        return _checked(_read_or_write(file), str(file)), f"in {file}"
    except OSError as error:
        raise ConfigError(f"cannot use {file}: {error.strerror}; set {TOKEN_VARIABLE} instead") from None


def _read_or_write(file: Path) -> str:
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if file.stat().st_mode & 0o077:
            raise ConfigError(f"{file} can be read by others; remove it, and a new token is written") from None
        return file.read_text().strip()
    token = secrets.token_urlsafe(32)
    with os.fdopen(fd, "w") as opened:
        opened.write(token + "\n")
    return token


def _checked(token: str, where: str) -> str:
    if len(token) < MIN_CHARS or not token.isascii() or any(char.isspace() for char in token):
        raise ConfigError(f"the token of {where} needs at least {MIN_CHARS} ASCII characters and no blanks")
    return token
