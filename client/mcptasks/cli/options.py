"""The options that commands share, and the values behind them. Loads nothing but typer: `--help` has to be quick."""

from enum import StrEnum
from typing import Annotated, Final

import typer

DEFAULT_SERVER: Final = "http://127.0.0.1:8080/mcp"
SERVER_VARIABLE: Final = "MCPTASKS_SERVER"
TOKEN_VARIABLE: Final = "MCPTASKS_TOKEN"  # noqa: S105  # a variable's name
"""Where the caller's token is. There is no option for it: a command line can be seen by others."""


DEFAULT_KUBECTL: Final = "kubectl"


class Output(StrEnum):
    """How a result is written."""

    TEXT = "text"
    """For people and for the next command in a pipe."""
    JSON = "json"
    """One JSON document in MCP's own words."""


Server = Annotated[
    str, typer.Option("--server", "-s", metavar="URL", envvar=SERVER_VARIABLE, help="The MCP server's endpoint.")
]
Format = Annotated[Output, typer.Option("--output", "-o", help="How standard output is written.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No status lines on standard error.")]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=0, help="Wait no longer; the task goes on (exit code 124)."),
]
CancelAfter = Annotated[
    float | None, typer.Option("--cancel-after", metavar="SECONDS", min=0, help="Cancel the task after that time.")
]
TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]
ToolName = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--argument",
        "-a",
        metavar="NAME=TEXT|NAME:=JSON",
        help="An argument: name=text is a string, name:=json a number, a list, an object, ... May be repeated.",
    ),
]
ArgumentsFile = Annotated[
    str | None,
    typer.Option("--file", "-f", metavar="FILE|-", help="The arguments as a JSON object; -a adds to them."),
]
AnswerAssignments = Annotated[
    list[str] | None,
    typer.Option(
        "--answer",
        metavar="KEY.FIELD=VALUE|KEY=JSON",
        help="The answer to a question: one of its fields, or all of them as a JSON object. May be repeated.",
    ),
]
Declined = Annotated[
    list[str] | None, typer.Option("--decline", metavar="KEY", help="Decline a question. May be repeated.")
]
LeaveQuestions = Annotated[
    bool, typer.Option("--leave-questions", help="Leave questions without an --answer to others, and go on waiting.")
]
Kubectl = Annotated[
    str,
    typer.Option(
        "--kubectl",
        metavar="COMMAND",
        envvar="MCPTASKS_KUBECTL",
        help="The kubectl to run, with options of its own: 'kubectl --context production'.",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAMESPACE", help="The tasks' namespace; kubectl's own by default."),
]
Approver = Annotated[
    bool, typer.Option("--approver", help="By kubectl, as an approver; else as the caller, by the MCP server.")
]
