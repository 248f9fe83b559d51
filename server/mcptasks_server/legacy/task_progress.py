"""The progress of a task, as a `tasks/result` stream tells it.

It is told under the token of the call that made the task, which is good for the task's life, and under that of
`tasks/result` itself. Source: specification 2025-11-25, "Progress", 3.
"""

import math

from mcptasks_crds.task import McpTask
from mcptasks_server.outbox import Outbox
from mcptasks_server.progress import ProgressLine
from mcptasks_server.projection import progress_of

from .projection import related
from .result_streams import ResultStream

_SLOT = "progress of a task"


class TaskProgress(ProgressLine):
    """Both lines as one."""

    def __init__(self, task: McpTask, *, outbox: Outbox, own_token: str | None, stream: ResultStream) -> None:
        """`own_token`: that of `tasks/result`, as JSON text."""
        meta = related(task.metadata.name)
        super().__init__(outbox, token=own_token, meta=meta)
        token = task.spec.progress_token
        # Another stream, at another replica, may have told what is so now, and nothing may be told twice.
        now = progress_of(task)
        self._of_task = ProgressLine(
            outbox,
            token=None if token == own_token else token,
            after=-math.inf if now is None else now.progress,
            meta=meta,
            slot=_SLOT,
        )
        self._stream = stream

    @property
    def is_wanted(self) -> bool:
        """Whether the client has asked for progress by either token."""
        return super().is_wanted or self._of_task.is_wanted

    def report(self, progress: float, *, total: float | None = None, message: str | None = None) -> bool:
        """Tell how far the task is, as long as this stream speaks for it."""
        if not self._stream.speaks:
            return False
        rises = super().report(progress, total=total, message=message)
        return self._of_task.report(progress, total=total, message=message) or rises

    def beat(self, message: str) -> None:
        """Tell that it lives, under the stream's own token: elsewhere, a hair above the task's value may be told."""
        if self._stream.speaks:
            super().beat(message)
