"""Reads the configuration file."""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from bus.errors import ConfigError

MAX_FILE_BYTES = 16 * 1024 * 1024
MOST_LEVELS = 100
"""Of objects and lists in each other; whoever walks a document may do so by recursion."""
BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path) -> bytes | None:
    """The bytes of the file; `None` when there is none.

    Raises:
        ConfigError: it exists and cannot be read, is not a regular file, is over 16 MiB, or is a link to nothing.
    """
    try:
        # Without O_NONBLOCK a FIFO in the file's place would hang every command.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError(f"cannot read {path}: it links to {path.readlink()}, which does not exist") from None
        return None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; check its owner and mode") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"cannot read {path}: it is not a regular file")
        if found.st_size > MAX_FILE_BYTES:
            raise ConfigError(f"cannot read {path}: it is larger than {MAX_FILE_BYTES >> 20} MiB")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def parse(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in `data`.

    Raises:
        ConfigError: empty, truncated, not UTF-8, not JSON (the message has line and column), not an object, or nested
            in more than `MOST_LEVELS`.
    """
    data = data.removeprefix(BOM)
    if not data.strip():
        raise ConfigError(f"{path} is empty; write {{}} or remove it")
    try:
        document = msgspec.json.decode(data)
        is_deep = _levels_exceed(document, MOST_LEVELS)
    except RecursionError:
        is_deep = True
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid JSON: {_explain(error, data)}") from None
    if is_deep:
        raise ConfigError(f"{path} is nested too deeply; {MOST_LEVELS} levels are allowed")
    if not isinstance(document, dict):
        raise ConfigError(f"{path} must hold a JSON object, not {json_type(document)}")
    return document


def _levels_exceed(document: object, most: int) -> bool:
    level = [document]
    for _ in range(most + 1):
        containers = [node for node in level if isinstance(node, dict | list)]
        if not containers:
            return False
        level = [value for node in containers for value in (node.values() if isinstance(node, dict) else node)]
    return True


def repeated_keys(data: bytes) -> list[str]:
    """Key paths that stand more than once in a document that `parse` accepts; sorted.

    JSON readers keep the last one without a word, so whoever wrote the first is misled.
    """
    import json  # the only reader here that shows both

    class Pairs(list[tuple[str, Any]]):
        """An object as it is written."""

    try:
        document = json.loads(data.removeprefix(BOM), object_pairs_hook=Pairs)
    except RecursionError:  # in a value that a later one of its key has replaced, so that `parse` did not see it
        return []
    found: set[str] = set()
    waiting: list[tuple[tuple[str, ...], Any]] = [((), document)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, Pairs):
            times = Counter(name for name, _ in node)
            found.update(".".join((*path, name)) for name, number in times.items() if number > 1)
            waiting.extend(((*path, name), value) for name, value in node)
        elif isinstance(node, list):
            waiting.extend((path, value) for value in node)
    return sorted(found)


def read_file(path: Path) -> dict[str, Any] | None:
    """The document in the file; `None` when there is no file.

    Raises:
        ConfigError: the file is there and cannot be used.
    """
    data = read_bytes(path)
    return None if data is None else parse(data, path)


def json_type(value: object) -> str:
    """What JSON calls the type of a decoded value, with its article."""
    names: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")


def _explain(error: Exception, data: bytes) -> str:
    text = str(error)
    if "truncated" in text:
        return "it ends in the middle of a value (half-written?)"
    reason, found, tail = text.removeprefix("JSON is malformed: ").partition(" (byte ")
    if not found:
        return reason
    before = data[: int(tail.rstrip(")"))]
    line = before.count(b"\n") + 1
    column = len(before) - before.rfind(b"\n")
    return f"{reason} at line {line}, column {column}"
