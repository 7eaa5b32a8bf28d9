"""The command line in this process, on the scratch place."""

import json
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from cli.output import run
from config.place import Place

Invoke = Callable[..., Result]


@pytest.fixture
def mms(place: Place, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs a command line through the given commands with click's runner."""
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)

    def invoke(commands: list[click.Command], *argv: str, **options: Any) -> Result:
        @click.group("mms")
        @click.option("--debug", is_flag=True)
        @click.option("--config")
        def root(debug: bool, config: str | None) -> None:
            del debug, config

        for command in commands:
            root.add_command(command)

        # What the console script does, so that the runner sees its exit code.
        @click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
        @click.pass_context
        def script(context: click.Context) -> None:
            context.exit(run(root, argv))

        return CliRunner().invoke(script, [], **options)

    return invoke


def document_of(result: Result) -> dict[str, Any]:
    """The one JSON document on stdout."""
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found
