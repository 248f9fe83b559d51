"""Which exit code a task's end stands for."""

from typing import assert_never

from mcptasks.models import CancelledTask, CompletedTask, FailedTask, InputRequiredTask, Task, WorkingTask

from .exits import Exit


def exit_of(task: Task) -> Exit:
    """How a command ends that followed a task up to here."""
    match task:
        case CompletedTask():
            return Exit.FAILED if task.result.is_error else Exit.COMPLETED
        case FailedTask():
            return Exit.FAILED
        case CancelledTask():
            return Exit.CANCELLED
        case InputRequiredTask():
            return Exit.INPUT_REQUIRED
        case WorkingTask():
            return Exit.NOT_FINISHED
        case _:
            assert_never(task)
