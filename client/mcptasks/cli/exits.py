"""How a command ends: its exit code."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes."""

    COMPLETED = 0
    """The tool gave a result, or the command did what it was asked."""
    FAILED = 1
    """A tool error, a task that failed, or a request that the server refused."""
    USAGE = 2
    """The command line is wrong; nothing was sent."""
    CANCELLED = 3
    """The task was cancelled."""
    INPUT_REQUIRED = 4
    """The task waits for answers that this command cannot give."""
    UNREACHABLE = 5
    """There is no MCP server at that address, or none that answers."""
    NOT_FINISHED = 124
    """The time to wait is over, as with timeout(1). The task goes on."""
    INTERRUPTED = 130
    """Ctrl-C. The task goes on."""
