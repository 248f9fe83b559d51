"""The command line: its verbs, and what is said of all of them."""

from typing import Annotated

import typer

from . import answering_verbs, calling_verbs
from .options import TOKEN_VARIABLE

app = typer.Typer(
    name="mcptasks",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: quick, and its paragraphs are wrapped where the terminal ends
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run the command line and exit with its code."""
    app(prog_name="mcptasks")


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415  # for this option alone

        print(f"mcptasks {version('mcptasks')}")
        raise typer.Exit


@app.callback(
    epilog=(
        "Exit codes: 0 completed; 1 tool error, failed task or refused request; 2 wrong usage; 3 cancelled; 4 needs an "
        "answer that nobody here gives; 5 no MCP server there; 124 not over in the time given; 130 let go by Ctrl-C. "
        f"A server that knows its callers is sent the token that {TOKEN_VARIABLE} holds."
    )
)
def _app(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Call MCP tools, follow the tasks that come of it, and answer what they ask."""


for _verb in (
    calling_verbs.call,
    calling_verbs.wait,
    calling_verbs.get,
    calling_verbs.result,
    calling_verbs.logs,
    calling_verbs.cancel,
    calling_verbs.tools,
    answering_verbs.answer,
    answering_verbs.questions,
    answering_verbs.approvals,
):
    app.command()(_verb)
