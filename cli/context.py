"""What every command needs first: the place it works on, and its configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from bus.errors import ConfigError
from cli.output import Role, printable, style, talk
from config.load import Loaded, load_settings
from config.place import Place
from config.problems import Level, Problem

ROLES: dict[Level, Role] = {"error": "bad", "warning": "warning", "note": "dim"}


def current_place() -> Place:
    """The place of the environment, with the program's `--config` if it was given."""
    return Place.from_environment(config_file=click.get_current_context().find_root().params.get("config"))


def usable_settings(place: Place) -> Loaded:
    """The configuration; what is wrong in it is said on stderr.

    Raises:
        ConfigError: the file as a whole is broken.
    """
    loaded = load_settings(place)
    if loaded.file_error:
        raise ConfigError(loaded.file_error)
    say_problems(problem for problem in loaded.problems if problem.level != "note")
    return loaded


def say_problems(problems: Iterable[Problem]) -> None:
    """One line each on stderr."""
    for problem in problems:
        talk(f"{style(problem.level, ROLES[problem.level], err=True)}: {printable(problem.message)}")


def as_data(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Problems as members of a JSON document."""
    return [{"level": p.level, "key": p.key, "message": p.message} for p in problems]
