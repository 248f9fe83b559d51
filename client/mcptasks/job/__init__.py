"""For the program of a tool: its arguments, progress, questions, and its result. Standard library only.

    from mcptasks.job import task, text

    def main(name: str) -> str:
        for part in task.track(range(10), "reading"):
            ...
        colour = task.ask("Which colour?", text())
        return f"{name} is {colour}"

    task.run(main)

`mcptasks.job.aio` has the same for async programs, and `python -m mcptasks.job.run` runs one without a cluster. A page
for each use: docs/jobs.md.
"""

from .errors import (
    ArgumentsError,
    DeclinedError,
    JobError,
    NoEndpointError,
    OvertakenError,
    RefusedError,
    TaskCancelled,
    TooLargeError,
    ToolError,
    UnreachableError,
)
from .fields import Field, boolean, choice, choices, integer, number, optional, text
from .parts import Part, audio, file, image, link, text_part
from .tasks import Task

task = Task()
"""The task of this process."""

__all__ = [
    "ArgumentsError",
    "DeclinedError",
    "Field",
    "JobError",
    "NoEndpointError",
    "OvertakenError",
    "Part",
    "RefusedError",
    "Task",
    "TaskCancelled",
    "TooLargeError",
    "ToolError",
    "UnreachableError",
    "audio",
    "boolean",
    "choice",
    "choices",
    "file",
    "image",
    "integer",
    "link",
    "number",
    "optional",
    "task",
    "text",
    "text_part",
]
