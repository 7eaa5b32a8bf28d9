"""A decoded document → settings blocks, key by key: one wrong value costs that value, never the rest."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from config.fields import Block, Field, fields_of
from config.problems import Level, Problem, did_you_mean, printable
from config.read import json_type

COMMENT_KEYS = frozenset({"$schema", "_comment", "//"})
CONNECTION_KEYS = frozenset(
    {"prefix", "transport", "command", "args", "env", "cwd", "url", "headers", "session", "tls"}
)
WORDS = {"yes": True, "on": True, "y": True, "t": True, "no": False, "off": False, "n": False, "f": False}

TYPE_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}

Path = tuple[str, ...]
B = TypeVar("B", bound=Block)


class Converter:
    """Converts blocks and collects what is to be said about them.

    Args:
        source: the file's name, for messages.
        variables: key path → environment variable that set it.

    Attributes:
        problems: findings so far.
        stated: key paths that somebody set to a usable value.
    """

    def __init__(self, source: str, variables: Mapping[Path, str]) -> None:
        self.problems: list[Problem] = []
        self.stated: set[str] = set()
        self._source = source
        self._variables = variables
        self._without_effect: set[tuple[type[Block], str]] = set()

    def report(self, level: Level, path: Path, text: str) -> None:
        """Adds a finding; `text` follows the source and the key."""
        key = ".".join(path)
        line = f"{self.origin(path) or self._source}: {key} {text}"
        self.problems.append(Problem(level, key, printable(line)))

    def origin(self, path: Path) -> str:
        """The variable that set the key or one around it; empty when the file did."""
        return next((self._variables[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._variables), "")

    def block(self, kind: type[B], raw: Mapping[str, Any], path: Path) -> B:
        """The block in `raw`; what cannot be used in it is reported and has its default."""
        values, _ = self.values(kind, raw, path)
        return kind(**values)

    def values(
        self,
        kind: type[Block],
        raw: Mapping[str, Any],
        path: Path,
        *,
        required: frozenset[str] = frozenset(),
        whole: str = "",
    ) -> tuple[dict[str, Any], set[str]]:
        """The usable values of the block and the names of keys whose values are not.

        Args:
            required: keys without which `whole` (a name for messages) cannot be used; they get no default.
        """
        known = fields_of(kind)
        values: dict[str, Any] = {}
        failed: set[str] = set()
        for key, value in raw.items():
            field = known.get(key)
            if field is None:
                self.unknown(key, (*path, key), known)
                continue
            here = (*path, key)
            if not field.effect:
                self._note_without_effect(kind, field, here)
            try:
                values[key] = self._value(field, value, here)
            except (msgspec.ValidationError, ValueError) as error:
                failed.add(key)
                complaint = _complaint(field, value, error)
                if key in required:
                    self.report("error", here, f"{complaint}; {whole} is left out")
                    continue
                values[key] = field.default if field.on_error is None else field.on_error
                self.report("error", here, f"{complaint}; {_shown(values[key])} is used")
            else:
                self.stated.add(".".join(here))
        return values, failed

    def unknown(self, key: str, path: Path, known: Iterable[str]) -> None:
        """Reports a key that nobody reads."""
        if key not in COMMENT_KEYS:
            self.report("warning", path, f"is not a known key and is ignored{did_you_mean(key, known)}")

    def entries(self, field: Field, raw: Any, path: Path) -> dict[str, Any]:
        """A name → block map; entries that are no objects are left out."""
        assert field.entries is not None
        if raw is None:
            return {}
        if not isinstance(raw, dict):
            raise ValueError(f"must be an object of names, not {json_type(raw)}")
        found: dict[str, Any] = {}
        for name, entry in raw.items():
            if isinstance(entry, dict):
                found[name] = self.block(field.entries, entry, (*path, name))
            else:
                self.report("error", (*path, name), f"must be an object, not {json_type(entry)}; it is left out")
        return found

    def _value(self, field: Field, value: Any, path: Path) -> Any:
        if field.entries:
            return self.entries(field, value, path)
        if field.block:
            if value is None:
                return field.default
            if not isinstance(value, dict):
                raise ValueError(f"must be an object, not {json_type(value)}")
            return self.block(field.block, value, path)
        return _lenient(value, field.type)

    def _note_without_effect(self, kind: type[Block], field: Field, path: Path) -> None:
        if (kind, field.name) not in self._without_effect:
            self._without_effect.add((kind, field.name))
            self.report("note", path, f"is accepted for compatibility and has no effect: {field.text.rstrip('.')}")


def _complaint(field: Field, value: Any, error: Exception) -> str:
    """What is wrong with a value, without the value."""
    text = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return text
    choices = _choices(field.type)
    if choices and isinstance(value, str):
        return f"must be one of {', '.join(choices)}{did_you_mean(value, choices)}"
    wanted, _, place = text.partition(" - at `$")
    wanted, _, got = wanted.removeprefix("Expected ").partition(", got ")
    return f"must be {_in_words(wanted)}{f', not {_in_words(got)}' if got else ''}{_place(place)}"


def _in_words(types: str) -> str:
    """msgspec's types (`` `int | null` >= 1 ``) in words."""
    _, quote, rest = types.partition("`")
    names, _, bounds = rest.partition("`")
    return " or ".join(TYPE_WORDS.get(name, name) for name in names.split(" | ")) + bounds if quote else types


def _place(text: str) -> str:
    """msgspec's path inside a value (`[1]`, `[...]`) in words."""
    if not text:
        return ""
    inside = text.rstrip("`")
    return " (one of its values)" if inside == "[...]" else f" (at {inside})"


def _lenient(value: Any, kind: Any) -> Any:
    """Converts as memtomem-stm did: numbers and switches may be texts, whole numbers may have a point."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        if isinstance(value, str) and value.strip().lower() in WORDS:
            return msgspec.convert(WORDS[value.strip().lower()], kind)
        raise


def _choices(kind: Any) -> list[str]:
    """The words a key takes, if it takes words only."""
    if kind is bool:
        return ["true", "false"]
    if typing.get_origin(kind) is typing.Literal:
        return [word for word in typing.get_args(kind) if isinstance(word, str)]
    return [word for part in typing.get_args(kind) for word in _choices(part)]


def _shown(value: Any) -> str:
    return "nothing" if value is None else msgspec.json.encode(value).decode()
