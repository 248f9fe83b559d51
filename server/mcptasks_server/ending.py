"""How a call ends whose task is over, for those who wait for the call itself. Pure."""

from mcptasks_crds.task import McpTask

from .errors import RpcError
from .projection import detailed_task, result_text
from .wire import ext_tasks as wire


class TaskFailedError(RpcError):
    """The platform could not run the call; `data.reason` is one of `mcptasks_crds.reasons`."""


class TaskCancelledError(RpcError):
    """The call was cancelled."""


def outcome_of(task: McpTask) -> str:
    """The result as the tool gave it, a CallToolResult as JSON text; of a task that is over.

    Raises:
        TaskFailedError: the platform could not run it.
        TaskCancelledError: it was cancelled.
    """
    match detailed_task(task):
        case wire.CompletedTask(result=marked):
            return result_text(task) or marked
        case wire.FailedTask(error=error):
            raise TaskFailedError(error.message, data=error.data)
        case wire.CancelledTask():
            raise TaskCancelledError("cancelled", data={"reason": task.status.reason or "Cancelled"})
        case wire.WorkingTask() | wire.InputRequiredTask():
            raise ValueError("the task is not over")
