"""`mms completion`: the script that teaches a shell to complete the command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from cli.entry import COMPLETION_VARIABLE
from cli.output import Answer, Failure, answers

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Let your shell complete commands and options.")
@click.argument("shell", type=click.Choice(SHELLS))
@answers
def completion(shell: str) -> Answer:
    """Print the script that lets a shell complete commands and options with the Tab key.

    \b
    Examples:
      eval "$(mms completion bash)"                   # in ~/.bashrc
      eval "$(mms completion zsh)"                    # in ~/.zshrc, after compinit
      mms completion fish > ~/.config/fish/completions/mms.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise Failure("no_shell", f"this version of click knows no completion for {shell}; update click")
    from cli.main import mms

    script = kind(mms, {}, "mms", COMPLETION_VARIABLE).source()
    return Answer(data={"shell": shell, "script": script}, text=script.rstrip("\n"))
