"""What can go wrong between a tool and its task."""


class JobError(Exception):
    """The root of all errors that `mcptasks.job` raises on purpose, a cancel aside."""


class ToolError(Exception):
    """Raise it for a failure that is the tool's own: its words are the result, with `isError`."""


class ArgumentsError(JobError):
    """The arguments are not what the tool's program wants them to be. The message says where and why."""


class NoEndpointError(JobError):
    """There is no task endpoint (`$MCPTASK_URL`), and what was asked for cannot be had without one."""


class UnreachableError(JobError):
    """The task endpoint did not answer, for as long as it was asked again and again."""


class DeclinedError(JobError):
    """A question was not answered: somebody declined it, put it aside, or nobody answered in time."""

    def __init__(self, message: str, *, action: str) -> None:
        super().__init__(message)
        self.action = action
        """`decline`, or `cancel` where it was put aside or nobody answered in time (MCP's words)."""


class RefusedError(JobError):
    """The task endpoint refused a request; asking again will not help."""

    def __init__(self, message: str, *, status: int, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.field = field
        """What in the request is at fault, where one thing is."""


class OvertakenError(RefusedError):
    """The task has another result, or the question other words under that key (409)."""


class TooLargeError(RefusedError):
    """More than a task can keep (413). The message names the limit."""


class TaskCancelled(BaseException):
    """The task is being stopped: its client cancelled it, it ran too long, or its pod has to go.

    Like `KeyboardInterrupt` it is no `Exception`, so that a loop that goes on after errors does not go on after this.
    Catch it to clean up; there are a few seconds (the pod's `terminationGracePeriodSeconds`).
    """
