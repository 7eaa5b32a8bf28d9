"""`mms login`: OAuth for an upstream server behind HTTP."""

from __future__ import annotations

import webbrowser

import click

from actors.upstream.messages import Authorize, LoggedIn, LogIn
from bus.client import Bus
from cli.asking import START_SECONDS, on_cluster
from cli.context import current_place
from cli.output import Answer, answers, talk

LOGIN_SECONDS = 600.0
"""How long a person may take."""


@click.command()
@click.argument("name")
@click.option("--no-browser", is_flag=True, help="Only print the address; open no browser.")
@answers
def login(name: str, no_browser: bool) -> Answer:
    """Log in at an upstream server (OAuth).

    Opens the server's own page in a browser and keeps the tokens, readable by you alone. They are refreshed as long as
    the server allows. Starts the background cluster if none runs.

    \b
    Example:
      mms login github
    """

    def show(item: Authorize) -> None:
        talk(f"Open this address to log in at {name}:\n  {item.address}")
        if not no_browser:
            webbrowser.open(item.address)

    async def work(bus: Bus) -> LoggedIn:
        return await bus.ask(LogIn(server=name), timeout=LOGIN_SECONDS, wait=START_SECONDS, on_item=show)

    done = on_cluster(current_place(), work)
    return Answer(data={"name": name, "tokens": done.file}, talk=f"Logged in at {name}; the tokens are in {done.file}.")
