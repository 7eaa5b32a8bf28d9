"""A client's configuration on the disk: read, and replaced whole with the previous content beside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bus.errors import ConfigError
from cli import jsonc, toml_text
from cli.hosts import Source
from config.edit import replace_file
from config.problems import printable
from config.read import read_bytes

T = TypeVar("T")
BACKUP = ".bak"
"""Added to the name of a file: what it held before."""


def read_document(source: Source) -> dict[str, Any]:
    """The client's whole configuration; `{}` when there is no file.

    Raises:
        ConfigError: the file cannot be read, or is not what it should be.
    """
    text = _text(source.path)
    return {} if text is None else _checked(source, lambda: _parse(source, text))


def put_server(source: Source, name: str, entry: dict[str, Any]) -> bool:
    """Writes one server into the file, which is made if there is none; returns whether the file changed.

    Raises:
        ConfigError: the file is broken (its bytes stay), or cannot be written.
    """
    put = toml_text.put if source.form == "toml" else jsonc.put
    return change(source, lambda text: put(text, (source.key, name), entry))


def remove_server(source: Source, name: str) -> bool:
    """Takes one server out of the file; returns whether the file changed. Raises as `put_server`."""
    remove = toml_text.remove if source.form == "toml" else jsonc.remove
    return change(source, lambda text: remove(text, (source.key, name)))


def preview(source: Source, edit: Callable[[str], str]) -> tuple[str, str]:
    """The file's text (empty when there is no file) and what `edit` makes of it; nothing is written.

    Raises:
        ConfigError: the file cannot be read or is broken.
    """
    text = _text(source.path) or ""
    return text, _checked(source, lambda: edit(text))


def change(source: Source, edit: Callable[[str], str]) -> bool:
    """Writes what `edit` makes of the file's text; returns whether the file changed. Raises as `put_server`."""
    before = _text(source.path)
    text = before or ""
    after = _checked(source, lambda: edit(text))
    if after == text:
        return False
    path = Path(os.path.realpath(source.path))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = 0o600
        if before is not None:
            mode = stat.S_IMODE(path.stat().st_mode)
            replace_file(path.with_name(path.name + BACKUP), before.encode(), mode)
        # Clients write their own files, too: what came in between must not be lost.
        if _text(source.path) != before:
            raise ConfigError(f"{source.path} was changed by another program just now; try again")
        replace_file(path, after.encode(), mode)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; the file is unchanged") from None
    return True


def backup(source: Source) -> str | None:
    """What the file held before it was changed last; `None` when that is not known."""
    path = Path(os.path.realpath(source.path))
    try:
        return _text(path.with_name(path.name + BACKUP))
    except ConfigError:
        return None


def _parse(source: Source, text: str) -> dict[str, Any]:
    return toml_text.parse(text) if source.form == "toml" else jsonc.parse(text)


def _checked(source: Source, work: Callable[[], T]) -> T:
    try:
        return work()
    except ValueError as error:
        # The parsers' messages name places and keys, never values.
        raise ConfigError(f"{source.path}: {printable(str(error))}; it stays as it is") from None


def _text(path: Path) -> str | None:
    data = read_bytes(path)
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text") from None
