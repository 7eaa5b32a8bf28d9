"""`mms config path | validate | show`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from bus.errors import ConfigError
from cli.context import as_data, current_place, say_problems, usable_settings
from cli.export_state import export_problems
from cli.output import FAILED, Answer, Failure, answers, style, table
from config.expand import expand_upstream
from config.leaves import Leaf, leaves
from config.load import Loaded, load_settings
from config.mask import mask_document
from config.place import Place
from config.problems import Problem, did_you_mean
from config.read import read_file


@click.group("config", short_help="The configuration: where it is, whether it is right, what it says.")
def config() -> None:
    """The configuration: where it is, whether it is right, what it says.

    \b
    Example:
      mms config show --origin surfacing
    """


@config.command("path", short_help="Where the configuration file is.")
@answers
def path() -> Answer:
    """Print where the configuration file is.

    \b
    Example:
      $EDITOR "$(mms config path)"
    """
    place = current_place()
    exists = place.config_file.exists()
    return Answer(
        data={"path": str(place.config_file), "exists": exists, "home": str(place.home), "state": str(place.state)},
        text=str(place.config_file),
        talk="" if exists else "the file does not exist yet; `mms add` creates it",
    )


@config.command("validate", short_help="Check the file and the environment.")
@answers
def validate() -> Answer:
    """Check the file and the environment. Exit code 1 when something is left out because of an error.

    Variables are looked up in this shell; a running cluster has those of whoever started it.

    \b
    Example:
      mms config validate --json
    """
    place = current_place()
    loaded = load_settings(place)
    exports = export_problems(loaded.settings, os.environ)
    problems = [*loaded.problems, *_unset_variables(loaded), *exports, *readable_secrets(place, loaded)]
    errors = sum(problem.level == "error" for problem in problems)
    say_problems(problems)
    exists = place.config_file.exists()
    if errors:
        verdict = f"{errors} error{'' if errors == 1 else 's'}"
    else:
        verdict = "valid" if exists else "there is no such file yet, the defaults are used; `mms add` creates it"
    text = f"{place.config_file}: {verdict}"
    return Answer(
        data={"path": str(place.config_file), "exists": exists, "problems": as_data(problems)},
        text=style(text, "bad" if errors else "good"),
        exit_code=FAILED if errors else 0,
        error="config_error" if errors else "",
        message=loaded.error,
    )


@config.command("show", short_help="Every setting and its value.")
@click.argument("key", required=False)
@click.option("--origin", is_flag=True, help="Where each value comes from, and who decides (cluster or session).")
@answers
def show(key: str | None, origin: bool) -> Answer:
    """Print every setting and its value, or those under KEY; secret values are masked.

    Keys of memtomem-stm that mean nothing here show with --origin only.

    \b
    Examples:
      mms config show
      mms config show --origin surfacing.min_score
    """
    loaded = usable_settings(current_place())
    everything = list(leaves(loaded.settings))
    chosen = [leaf for leaf in everything if (_is_under(leaf.key, key) if key else leaf.effect or origin)]
    if not chosen:
        hint = did_you_mean(key or "", [leaf.key for leaf in everything])
        raise Failure("unknown_key", f"there is no setting {key}{hint or '; `mms config show` lists them'}")
    rows = [{"key": leaf.key, "value": _masked(leaf)} for leaf in chosen]
    if origin:
        for row, leaf in zip(rows, chosen, strict=True):
            row |= {"origin": loaded.origin(leaf.key), "scope": leaf.scope, "effect": leaf.effect, "text": leaf.text}
    return Answer(data={"settings": rows}, text=_table(rows, origin=origin))


def _unset_variables(loaded: Loaded) -> Iterator[Problem]:
    """Upstreams that could not start from this shell."""
    for name, upstream in loaded.settings.proxy.upstream_servers.items():
        try:
            expand_upstream(name, upstream)
        except ConfigError as error:
            yield Problem("warning", f"upstream_servers.{name}", error.message)


def readable_secrets(place: Place, loaded: Loaded) -> Iterator[Problem]:
    """A file with credentials in it that other users can read."""
    if loaded.file_error or not place.config_file.exists():
        return
    document = read_file(place.config_file)
    if place.config_file.stat().st_mode & 0o077 and mask_document(document) != document:
        text = f"{place.config_file} holds credentials and other users can read it; chmod 600 it"
        yield Problem("warning", "", text)


def _table(rows: list[dict[str, Any]], *, origin: bool) -> str:
    values = [msgspec.json.encode(row["value"]).decode() for row in rows]
    if not origin:
        return "\n".join(f"{row['key']} = {value}" for row, value in zip(rows, values, strict=True))
    cells = [
        (row["key"], value, row["origin"], row["scope"] if row["effect"] else "no effect", row["text"])
        for row, value in zip(rows, values, strict=True)
    ]
    return table(("KEY", "VALUE", "ORIGIN", "SCOPE", "MEANING"), cells)


def _masked(leaf: Leaf) -> Any:
    return mask_document(msgspec.to_builtins(leaf.value), leaf.key.rpartition(".")[2])


def _is_under(key: str, wanted: str) -> bool:
    return key == wanted or key.startswith(f"{wanted}.")
