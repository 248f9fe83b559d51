"""Which stream speaks for a task: of several `tasks/result` of one task at a replica, the newest.

A message may be sent on one stream only, so a stream that a newer one has taken the place of is silent from then on; it
still ends with the task's result. Source: specification 2025-11-25, "Transports", "Multiple Connections"; "Progress".
"""

from collections.abc import Iterator
from contextlib import contextmanager


class ResultStream:
    """One stream's right to speak for its task."""

    def __init__(self) -> None:
        self.speaks = True
        """Whether what happens to the task is told here."""


class ResultStreams:
    """The streams that speak, by their task."""

    def __init__(self) -> None:
        self._speaking: dict[str, ResultStream] = {}

    def __len__(self) -> int:
        return len(self._speaking)

    @contextmanager
    def newest(self, task_id: str) -> Iterator[ResultStream]:
        """Speak for a task for as long as the context lasts, or until a newer stream does."""
        stream = ResultStream()
        before, self._speaking[task_id] = self._speaking.get(task_id), stream
        if before is not None:
            before.speaks = False
        try:
            yield stream
        finally:
            if self._speaking.get(task_id) is stream:
                del self._speaking[task_id]
